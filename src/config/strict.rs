//! YAML into a raw type, strictly: whatever is not as it should be is refused naming file, line, key and what would be
//! right (D3).

use serde::{Deserialize, Deserializer, de};
use std::{fmt, marker::PhantomData, path::PathBuf};

/// Where a file is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) struct Wrong {
    /// The file.
    pub(crate) file: PathBuf,
    /// The line, from 1.
    pub(crate) line: Option<u64>,
    /// The column, from 1.
    pub(crate) column: Option<u64>,
    /// The key, dotted.
    pub(crate) key: Option<String>,
    /// What is wrong and what would be right.
    pub(crate) message: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        for place in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{place}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": `{key}`")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Reads one YAML document.
///
/// # Errors
/// [`Wrong`] says where and what would be right.
pub(crate) fn read<T: de::DeserializeOwned>(file: &std::path::Path, text: &str) -> Result<T, Wrong> {
    let deserializer = serde_yaml::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(deserializer, &mut track);
    T::deserialize(tracked).map_err(|error| {
        let place = error.location();
        let path = track.path().to_string();
        // The library puts the path and the place into some messages; both are told beside it.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        let message = match message.split_once(": ") {
            Some((head, rest)) if path == head || path.starts_with(&format!("{head}.")) => rest,
            Some(_) | None => message,
        };
        // The library tells where the object begins, which helps nobody to find the second of two keys.
        if let Some(doubled) = message.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`')) {
            return Wrong {
                file: file.into(),
                line: line_of(text, doubled, 1),
                column: None,
                key: Some(doubled.into()),
                message: "this key stands there twice".into(),
            };
        }
        Wrong {
            file: file.into(),
            line: place.as_ref().and_then(|place| u64::try_from(place.line()).ok()),
            column: place.as_ref().and_then(|place| u64::try_from(place.column()).ok()),
            key: (path != "." && path != "?").then_some(path),
            message: message.into(),
        }
    })
}

/// Finds the line of a key's occurrence, from 0: of its last part, when it is dotted.
pub(super) fn line_of(text: &str, key: &str, occurrence: usize) -> Option<u64> {
    let last = key.rsplit('.').next()?;
    let is_key = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ");
        line.strip_prefix(last).is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let mut found = text.lines().enumerate().filter(|(_, line)| is_key(line));
    found.nth(occurrence).and_then(|(index, _)| u64::try_from(index + 1).ok())
}

/// A text that was written as one: `1` and `true` are not, so that nothing is read otherwise than it looks.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema)]
#[schemars(transparent)]
pub(crate) struct Text(pub(crate) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor(PhantomData))
    }
}

struct TextVisitor(PhantomData<()>);

impl de::Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text; put quotes around it")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.into()))
    }
}
