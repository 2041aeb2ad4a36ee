//! The C header.

use super::{Export, MARK, numbers};
use crate::model::Rows;

// What it computes with: the operations of `affine.rs` and `sigmoid.rs`.
const AFFINE: &str = include_str!("affine.h");
const CENTRED: &str = include_str!("centred.h");
const SIGMOID: &str = include_str!("sigmoid.h");

const NUMBER: &str = "
/* The number that is predicted for a sample. */
static inline float NAME_predict(const float features[BIG_FEATURES])
{
    return INPUT(NAME_weights, NAME_bias);
}
";

const TWO_CLASSES: &str = "
/* The score of a sample: the logarithm of the odds of the second class. */
static inline float NAME_score(const float features[BIG_FEATURES])
{
    return INPUT(NAME_weights, NAME_bias);
}

/* The class that is predicted for a sample, counted from 0. */
static inline int NAME_predict(const float features[BIG_FEATURES])
{
    return NAME_score(features) < 0.0f ? 0 : 1;
}

/* The probability of that class. */
static inline float NAME_probability(const float features[BIG_FEATURES])
{
    const float score = NAME_score(features);
    return NAME_sigmoid(score < 0.0f ? -score : score);
}
";

const LAYERED: &str = "
/* The score of every class for a sample. */
static inline void NAME_scores(const float features[BIG_FEATURES], float scores[BIG_CLASSES])
{
    float units[BIG_UNITS];
    for (int i = 0; i < BIG_UNITS; i++) {
        units[i] = NAME_sigmoid(INPUT(NAME_layer[i], NAME_layer_biases[i]));
    }
    for (int i = 0; i < BIG_CLASSES; i++) {
        scores[i] = NAME_affine(NAME_head[i], NAME_head_biases[i], units, BIG_UNITS);
    }
}

static inline int NAME_largest(const float scores[BIG_CLASSES])
{
    int best = 0;
    for (int i = 1; i < BIG_CLASSES; i++) {
        if (scores[i] > scores[best]) {
            best = i;
        }
    }
    return best;
}

/* The class that is predicted for a sample, counted from 0. */
static inline int NAME_predict(const float features[BIG_FEATURES])
{
    float scores[BIG_CLASSES];
    NAME_scores(features, scores);
    return NAME_largest(scores);
}

/* The probability of that class. */
static inline float NAME_probability(const float features[BIG_FEATURES])
{
    float scores[BIG_CLASSES];
    float total = 0.0f;
    NAME_scores(features, scores);
    const float top = scores[NAME_largest(scores)];
    for (int i = 0; i < BIG_CLASSES; i++) {
        total = NAME_sum(total, NAME_exp(NAME_sum(scores[i], -top)));
    }
    return NAME_quotient(1.0f, total);
}
";

impl Export<'_> {
    /// A header that needs no other. All its names begin with `stem`, as far as that can be part of a name.
    #[must_use]
    pub fn c(&self, stem: &str) -> String {
        let (name, big) = names(stem);
        let classes = self.model.classes();
        let mut code = format!(
            "#ifndef BIG_H\n#define BIG_H\n\n#define BIG_FEATURES {}\n",
            self.model.width()
        );
        if !classes.is_empty() {
            code += &format!("#define BIG_CLASSES {}\n", classes.len());
        }
        code += &match &self.folded.layer {
            Some(layer) => {
                let units = format!("#define BIG_UNITS {}\n", layer.biases.len());
                units + &rows("layer", layer) + &rows("head", &self.folded.output)
            }
            None => one(&self.folded.output),
        };
        let offsets = &self.folded.offsets;
        if !offsets.is_empty() {
            let offsets = numbers(offsets, "f", "    ");
            code +=
                &format!("\nstatic const float NAME_offsets[BIG_FEATURES] = {{\n{offsets}}};\n");
        }
        code += "\n";
        code += AFFINE;
        if !offsets.is_empty() {
            code += CENTRED;
        }
        code += &match (&self.folded.layer, classes) {
            (Some(_), _) => SIGMOID.to_owned() + LAYERED,
            (None, []) => NUMBER.to_owned(),
            (None, _) => SIGMOID.to_owned() + TWO_CLASSES,
        };
        let code = match offsets.is_empty() {
            true => input(&code, "NAME_affine", "features, BIG_FEATURES"),
            false => input(&code, "NAME_centred", "features"),
        };
        let (version, about) = (env!("CARGO_PKG_VERSION"), self.about().replace('\n', "\n * "));
        let mut text =
            format!("/* {MARK} {version}: changes would be lost.\n *\n * {about}\n */\n");
        text += &code.replace("NAME", &name).replace("BIG", &big);
        if !classes.is_empty() {
            let list: Vec<String> = classes.iter().map(|class| quoted(class)).collect();
            text += &format!(
                "\n/* The name of a class; empty if there is no such class. */\n\
                 static inline const char *{name}_class_name(int place)\n{{\n\
                 \x20   static const char *const names[{big}_CLASSES] = {{\n        {}\n    }};\n\
                 \x20   return place >= 0 && place < {big}_CLASSES ? names[place] : \"\";\n}}\n",
                list.join(",\n        ")
            );
        }
        text + &format!("\n#endif /* {big}_H */\n")
    }
}

/// Code in which the sums of features are computed by this function, with these arguments after the weights and the bias.
fn input(code: &str, function: &str, arguments: &str) -> String {
    let mut parts = code.split("INPUT(");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        // The weights and the bias have no brackets in them.
        let (own, rest) = part.split_once(')').unwrap_or((part, ""));
        format!("{text}{function}({own}, {arguments}){rest}")
    })
}

/// The weights of a single sum.
fn one(rows: &Rows) -> String {
    let (weights, bias) = (numbers(&rows.weights, "f", "    "), rows.biases[0]);
    format!(
        "\nstatic const float NAME_weights[BIG_FEATURES] = {{\n{weights}}};\n\
         static const float NAME_bias = {bias:?}f;\n"
    )
}

/// The weights of several sums.
fn rows(name: &str, rows: &Rows) -> String {
    let (count, width) = (rows.biases.len(), rows.width);
    let row = |(weights, _): (&[f32], f32)| {
        format!("    {{\n{}    }},\n", numbers(weights, "f", "        "))
    };
    let weights: String = rows.iter().map(row).collect();
    let biases = numbers(&rows.biases, "f", "    ");
    format!(
        "\nstatic const float NAME_{name}[{count}][{width}] = {{\n{weights}}};\n\
         static const float NAME_{name}_biases[{count}] = {{\n{biases}}};\n"
    )
}

/// What names begin with, and the same for macros.
fn names(stem: &str) -> (String, String) {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = stem.chars().map(plain).collect();
    let name = match name.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => name,
        _ => format!("model_{name}"),
    };
    let big = name.to_ascii_uppercase();
    (name, big)
}

/// A string, in which only letters, digits and harmless signs stand for themselves.
fn quoted(text: &str) -> String {
    let byte = |byte: u8| match byte {
        // A question mark may begin a trigraph.
        b'"' | b'\\' | b'?' => format!("\\{:03o}", byte),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    format!("\"{}\"", text.bytes().map(byte).collect::<String>())
}
