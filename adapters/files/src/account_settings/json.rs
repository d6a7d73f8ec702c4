//! JSON whose values know where they stand, and in which the last of doubled keys counts, as it does for the tool.

use super::lists::Wrong;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// A place in a text, both from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Place {
    fn at(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self { line: count(before.matches('\n').count()), column: count(line.chars().count()) }
    }
}

/// Counts from 1.
fn count(passed: usize) -> u64 {
    u64::try_from(passed).map_or(u64::MAX, |passed| passed.saturating_add(1))
}

/// A value, as it is written in its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'a> {
    text: &'a str,
    raw: &'a str,
}

/// The members of an object, in their order, doubled ones too.
pub(super) struct Object<'a> {
    text: &'a str,
    members: Vec<(String, &'a RawValue)>,
}

impl<'a> Value<'a> {
    /// Reads a whole text.
    pub(super) fn whole(text: &'a str) -> Result<Self, Wrong> {
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => Ok(Self { text, raw: raw.get() }),
            Err(error) => Err(Self { text, raw: text }.unreadable(&error)),
        }
    }

    /// Returns its members.
    pub(super) fn object(self, key: &str) -> Result<Object<'a>, Wrong> {
        if !self.is_object() {
            return Err(self.wrong(key, "an object"));
        }
        let Members(members) = serde_json::from_str(self.raw).map_err(|error| self.unreadable(&error))?;
        Ok(Object { text: self.text, members })
    }

    /// Returns its entries.
    pub(super) fn list(self, key: &str) -> Result<Vec<Self>, Wrong> {
        if !self.raw.starts_with('[') {
            return Err(self.wrong(key, "a list"));
        }
        let entries: Vec<&RawValue> = serde_json::from_str(self.raw).map_err(|error| self.unreadable(&error))?;
        Ok(entries.into_iter().map(|raw| Self { text: self.text, raw: raw.get() }).collect())
    }

    /// Returns its text, when it is one.
    pub(super) fn text(self) -> Option<String> {
        serde_json::from_str(self.raw).ok()
    }

    pub(super) fn is_text(&self) -> bool {
        self.raw.starts_with('"')
    }

    pub(super) fn is_object(&self) -> bool {
        self.raw.starts_with('{')
    }

    /// Returns it as it is written.
    pub(super) fn json(self) -> String {
        self.raw.into()
    }

    /// Says that another type is needed here.
    pub(super) fn wrong(self, key: &str, expected: &str) -> Wrong {
        Wrong {
            place: Place::at(self.text, self.offset()),
            key: Some(key.into()),
            message: format!("`{key}` must be {expected}; the tool would ignore the whole file"),
        }
    }

    fn unreadable(self, error: &serde_json::Error) -> Wrong {
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        Wrong {
            place: self.place_of(error),
            key: None,
            message: format!("it is no JSON that the tool reads: {said}; the tool would ignore the whole file"),
        }
    }

    fn place_of(self, error: &serde_json::Error) -> Place {
        let (line, column) = (error.line(), error.column());
        let start = match line.checked_sub(1) {
            None | Some(0) => 0,
            Some(lines) => self.raw.match_indices('\n').nth(lines - 1).map_or(0, |(at, _)| at + 1),
        };
        let end = self.raw.floor_char_boundary(start + column.saturating_sub(1));
        Place::at(self.text, self.offset() + end)
    }

    /// Where it begins in its text, of which it is a part.
    fn offset(self) -> usize {
        (self.raw.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }
}

impl<'a> Object<'a> {
    /// Returns the names of its members.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the value of a key, the last one when there are several.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let (_, raw) = self.members.iter().rfind(|(name, _)| name == key)?;
        Some(Value { text: self.text, raw: raw.get() })
    }
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(All)
    }
}

struct All;

impl<'de> Visitor<'de> for All {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<Cow<'de, str>, &RawValue>()? {
            members.push((key.into_owned(), value));
        }
        Ok(Members(members))
    }
}
