//! What travels is called after its sender: `lopa/FLEET/n/FROM` for all neighbours of a node, `lopa/FLEET/d/FROM/TO` for one.
//!
//! How a gateway stands, which it says again and again, is called `lopa/FLEET/standing/NAME`. `lopa/FLEET/**` is all of a fleet,
//! for access control.

/// A name that cannot be part of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} cannot be the name of a fleet or a gateway: use letters, digits, '-', '_' and '.' (fleet.name can name a fleet, \
     otherwise its file does)"
)]
pub struct KeyError(String);

/// The keys of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    fleet: String,
}

/// Refuses a name that means something else in a key.
///
/// # Errors
/// Repeats the name.
pub fn check(name: &str) -> Result<(), KeyError> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let sound = !name.is_empty() && name.chars().all(plain);
    if sound { Ok(()) } else { Err(KeyError(name.into())) }
}

impl Keys {
    /// The keys of a fleet with this name.
    ///
    /// # Errors
    /// Refuses a name that cannot be part of a key.
    pub fn new(fleet: &str) -> Result<Self, KeyError> {
        check(fleet)?;
        Ok(Self { fleet: fleet.into() })
    }

    /// A frame from a node, to one neighbour or to all.
    #[must_use]
    pub fn frame(&self, from: u32, to: Option<u32>) -> String {
        match to {
            Some(to) => format!("lopa/{}/d/{from}/{to}", self.fleet),
            None => format!("lopa/{}/n/{from}", self.fleet),
        }
    }

    /// How a gateway stands; `*` for all.
    #[must_use]
    pub fn standing(&self, name: &str) -> String {
        format!("lopa/{}/standing/{name}", self.fleet)
    }

    /// Everything of a fleet.
    #[must_use]
    pub fn all(&self) -> String {
        format!("lopa/{}/**", self.fleet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_part_of_a_key() {
        let keys = Keys::new("press-hall_2.b").unwrap();
        assert_eq!(keys.frame(3, None), "lopa/press-hall_2.b/n/3");
        assert_eq!(keys.frame(3, Some(10)), "lopa/press-hall_2.b/d/3/10");
        assert_eq!(keys.standing("*"), "lopa/press-hall_2.b/standing/*");
        for name in ["", "a/b", "*", "a$*", "a?b", "#", "a b"] {
            let error = Keys::new(name).unwrap_err().to_string();
            assert!(error.contains(&format!("{name:?}")), "{error}");
        }
    }
}
