//! Text that was checked once, at the edge: inside, its bounds hold (ADR-0022 and the limits of rpc.md 9).

use crate::limits;
use alloc::{format, string::String};
use core::fmt;

/// Why a text was not taken. The edge names the parameter; this says what was wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Longer than its limit, or empty where something is needed.
    #[error("{expected}")]
    Length {
        /// What would be right.
        expected: String,
    },
    /// Holds what it may not hold.
    #[error("{expected}")]
    Value {
        /// What would be right.
        expected: String,
    },
}

fn length(expected: String) -> TextError {
    TextError::Length { expected }
}

fn value(expected: &str) -> TextError {
    TextError::Value { expected: expected.into() }
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident: $check:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Checks the text and keeps it as it is.
            ///
            /// # Errors
            /// [`TextError`] says what would be right.
            pub fn new(text: impl Into<String>) -> Result<Self, TextError> {
                let text = text.into();
                let check: fn(&str) -> Result<(), TextError> = $check;
                check(&text)?;
                Ok(Self(text))
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    )*};
}

texts! {
    /// What a person asks: not blank, at most [`limits::TEXT_BYTES`].
    Question: |text| bounded(text, limits::TEXT_BYTES);
    /// What a Job is to do: not blank, at most [`limits::PROMPT_BYTES`], and without a NUL, since it becomes a word of a
    /// command line.
    Prompt: |text| {
        bounded(text, limits::PROMPT_BYTES)?;
        if text.contains('\0') {
            return Err(value("no NUL, which no command line can hold"));
        }
        Ok(())
    };
    /// A title that somebody gave: one line of 1 to [`limits::TITLE_CHARS`] characters without controls.
    Title: |text| {
        let chars = text.chars().count();
        if chars == 0 || chars > limits::TITLE_CHARS {
            return Err(length(format!("1 to {} characters", limits::TITLE_CHARS)));
        }
        if text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
            return Err(value("one line without control characters"));
        }
        Ok(())
    };
    /// Why a person said no: at most [`limits::REASON_BYTES`].
    Reason: |text| {
        if text.len() > limits::REASON_BYTES {
            return Err(length(format!("at most {} bytes", limits::REASON_BYTES)));
        }
        Ok(())
    };
    /// A client's own name for a call, so that a repeated one does nothing: 1 to 64 characters from `!` to `~`.
    ClientKey: |text| {
        if text.is_empty() || text.len() > limits::CLIENT_KEY_CHARS {
            return Err(length(format!("1 to {} characters", limits::CLIENT_KEY_CHARS)));
        }
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(value("characters from ! to ~"));
        }
        Ok(())
    };
    /// A Project's name: `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`.
    ProjectName: |text| name(text, |b| b.is_ascii_alphanumeric(), |b| b.is_ascii_alphanumeric() || b"._-".contains(&b),
        "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$");
    /// An Account's name: `^[a-z0-9][a-z0-9_-]{0,63}$`.
    AccountName: |text| {
        let small = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        name(text, small, |b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b), "^[a-z0-9][a-z0-9_-]{0,63}$")
    };
    /// A model's id at its Provider: 1 to 200 printable ASCII characters without blanks.
    ModelId: |text| {
        if text.is_empty() || text.len() > limits::MODEL_ID_CHARS {
            return Err(length(format!("1 to {} characters", limits::MODEL_ID_CHARS)));
        }
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(value("printable ASCII without blanks"));
        }
        Ok(())
    };
    /// An absolute path in UTF-8, resolved by whoever made it. Not looked at again here.
    AbsPath: |text| {
        if !text.starts_with('/') || text.contains('\0') {
            return Err(value("an absolute path"));
        }
        Ok(())
    };
    /// The name of a branch, as git gave or accepted it.
    BranchName: |text| {
        if text.is_empty() || text.starts_with('-') || text.contains('\0') {
            return Err(value("the name of a branch"));
        }
        Ok(())
    };
    /// The hash of a commit: 40 or 64 hex digits.
    CommitId: |text| {
        let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !hex || !(text.len() == 40 || text.len() == 64) {
            return Err(value("40 or 64 hex digits"));
        }
        Ok(())
    };
}

fn bounded(text: &str, most: usize) -> Result<(), TextError> {
    if text.chars().all(char::is_whitespace) {
        return Err(length("at least one character that is not blank".into()));
    }
    if text.len() > most {
        return Err(length(format!("at most {most} bytes")));
    }
    Ok(())
}

fn name(text: &str, first: fn(u8) -> bool, rest: fn(u8) -> bool, pattern: &str) -> Result<(), TextError> {
    let mut bytes = text.bytes();
    if bytes.next().is_some_and(first) && bytes.all(rest) && text.len() <= 64 {
        return Ok(());
    }
    Err(value(pattern))
}

/// Output that was bounded while it was read: the first and the last part, and how much there truly was (D14).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Clipped {
    /// The first part; all of it when nothing was left out.
    pub head: String,
    /// The last part; empty when nothing was left out.
    pub tail: String,
    /// The true size in bytes, before decoding.
    pub bytes: u64,
    /// How many bytes were left out between the two.
    pub omitted_bytes: u64,
    /// How many bytes were not UTF-8 and became U+FFFD.
    pub replaced_bytes: u64,
}

/// Cuts a text to at most `most` characters, the last of which is then `…`.
#[must_use]
pub fn cut_chars(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most.saturating_sub(1)).chain(core::iter::once('…')).collect()
}

/// Returns the longest start of `text` that has at most `most` bytes and ends on a character boundary.
#[must_use]
pub fn cut_bytes(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
