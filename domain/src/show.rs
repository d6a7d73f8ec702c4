//! Text for people (D9).

use alloc::string::String;

/// Returns the text with whatever would not print as itself made visible.
#[must_use]
pub fn visible(text: &str) -> String {
    text.into()
}
