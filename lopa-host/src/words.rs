//! Settings written in words, such as `grid 3x4`: the forms they can have, and what a misspelt one probably meant.

/// A form that a setting can have: its name, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// How it is written, such as `grid ROWSxCOLUMNS`.
    pub form: &'static str,
    /// An example, such as `grid 3x4`.
    pub example: &'static str,
}

/// Why a text is not a form of a setting, and which forms there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormError(String);

impl Form {
    /// A form and an example of it.
    #[must_use]
    pub const fn new(form: &'static str, example: &'static str) -> Self {
        Self { form, example }
    }

    fn name(&self) -> &'static str {
        self.form.split(' ').next().unwrap_or_default()
    }

    /// Reads a text: `read` gets its name and what follows, and returns nothing if that is not what the form takes.
    pub(crate) fn parse<T>(
        what: &str,
        forms: &[Self],
        text: &str,
        read: impl FnOnce(&str, &str) -> Option<T>,
    ) -> Result<T, FormError> {
        let text = text.trim();
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let Some(own) = forms.iter().find(|form| form.name() == name) else {
            let hint = nearest(name, forms.iter().map(Self::name))
                .map_or_else(String::new, |nearest| format!("did you mean `{nearest}`? "));
            let list: Vec<String> = forms.iter().map(|form| format!("`{}`", form.form)).collect();
            let list = list.join(", ");
            return Err(FormError(format!(
                "unknown {what} `{name}`: {hint}valid forms are {list}"
            )));
        };
        read(name, rest.trim()).ok_or_else(|| {
            let Self { form, example } = own;
            FormError(match *form == name {
                true => format!("`{text}`: `{form}` takes no arguments"),
                false => format!("`{text}`: the form is `{form}`, for example `{example}`"),
            })
        })
    }
}

/// The known word that is most like this one, if any is; upper case, `-`, `_` and blanks make no difference.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace(['-', '_', ' '], "");
    let word = plain(word);
    known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&word, &plain(known)), known))
        .filter(|(distance, known)| 2 * distance <= known.len().max(2))
        .min()
        .map(|(_, known)| known)
}

/// A number of things, such as `1 node` or `3 nodes`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A name, percent-encoded for a link.
pub(crate) fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(byte.into());
            }
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text
}

/// Makes a setting whose type has `FromStr` and `Display` readable and writable with serde, as a text.
macro_rules! serde_as_text {
    ($name:ty) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(from)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;

/// A word that stands where a number may, as a module for serde's `with`.
macro_rules! word {
    ($name:ident) => {
        mod $name {
            use serde::{Deserialize, Deserializer, Serializer, de::Error};

            const WORD: &str = stringify!($name);

            pub(super) fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(WORD)
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
                match String::deserialize(from)?.as_str() {
                    WORD => Ok(()),
                    other => Err(D::Error::custom(format!("{other:?} is not {WORD:?}"))),
                }
            }
        }
    };
}
pub(crate) use word;
