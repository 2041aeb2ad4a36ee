//! What tells experiments apart: the keys in which they differ, and what they have in common.

use serde_json::Value;

use super::Table;

/// A table of the keys in which experiments differ, one column per run, and the keys that all have in common, one per
/// line. `runs` are names and experiments; an unknown experiment is `None`, and takes no part.
///
/// ```
/// use lopa_host::report::differences;
/// use serde_json::json;
/// let one = json!({ "network": { "nodes": 4 }, "algorithm": { "name": "lopa-lg" } });
/// let two = json!({ "network": { "nodes": 4 }, "algorithm": { "name": "lopa-gt", "tau": 0.5 } });
/// let (table, common) = differences(&[("one".into(), Some(one)), ("two".into(), Some(two))]);
/// assert_eq!(table.rows[0], ["algorithm.name", "lopa-lg", "lopa-gt"]);
/// assert_eq!(table.rows[1], ["algorithm.tau", "\u{2013}", "0.5"]);
/// assert_eq!(common, "network.nodes = 4\n");
/// ```
#[must_use]
pub fn differences(runs: &[(String, Option<Value>)]) -> (Table, String) {
    let known: Vec<(&String, Vec<(String, String)>)> = runs
        .iter()
        .filter_map(|(name, experiment)| Some((name, flat(experiment.as_ref()?))))
        .collect();
    let mut keys: Vec<&String> = Vec::new();
    for (key, _) in known.iter().flat_map(|(_, own)| own) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    // Tables stay together, also where only some runs have a key.
    keys.sort_by_key(|key| key.split('.').next());
    let (mut rows, mut common) = (Vec::new(), String::new());
    for key in keys {
        let find = |own: &Vec<(String, String)>| {
            own.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
        };
        let values: Vec<Option<String>> = known.iter().map(|(_, own)| find(own)).collect();
        match &values[0] {
            Some(first) if values.iter().all(|value| *value == values[0]) => {
                common += &format!("{key} = {first}\n");
            }
            _ => {
                let cell = |value: Option<String>| value.unwrap_or_else(|| "\u{2013}".into());
                rows.push([key.clone()].into_iter().chain(values.into_iter().map(cell)).collect());
            }
        }
    }
    let names = known.iter().map(|(name, _)| (*name).clone());
    let same = if rows.is_empty() { "Their experiments are the same." } else { "" };
    let table = Table {
        title: "How the runs differ".into(),
        caption: same.into(),
        head: ["key".to_owned()].into_iter().chain(names).collect(),
        rows,
        ..Table::default()
    };
    (table, common)
}

/// The keys of nested tables, joined by dots. A list is one value.
fn flat(value: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(value, String::new(), &mut found);
    found
}

fn collect(value: &Value, key: String, found: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(table) => {
            for (name, value) in table {
                let name = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                collect(value, name, found);
            }
        }
        Value::String(text) => found.push((key, text.clone())),
        other => found.push((key, other.to_string())),
    }
}
