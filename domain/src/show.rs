//! Text for people: what would not print as itself is escaped, and two different argv never look alike (D9).

use alloc::string::String;
use core::fmt::Write as _;
use unicode_general_category::{GeneralCategory, get_general_category};

/// Returns the words on one line: plain ones as they are, all others in double quotes with their escapes. Nothing is
/// cut, and different words never give the same line.
#[must_use]
pub fn quote_argv(argv: &[String]) -> String {
    let mut line = String::new();
    for (index, word) in argv.iter().enumerate() {
        if index > 0 {
            line.push(' ');
        }
        if is_plain(word) {
            line.push_str(word);
            continue;
        }
        line.push('"');
        for c in word.chars() {
            match c {
                '"' => line.push_str("\\\""),
                '\\' => line.push_str("\\\\"),
                _ => push_escaped(&mut line, c),
            }
        }
        line.push('"');
    }
    line
}

/// Returns running text with whatever would not print as itself made visible; line feeds and tabs stay.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            _ => push_escaped(&mut shown, c),
        }
    }
    shown
}

/// Returns the same on one line: line feeds and tabs are escaped, too.
#[must_use]
pub fn on_one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push_escaped(&mut shown, c));
    shown
}

/// Says whether the text prints as itself, on one line.
#[must_use]
pub(crate) fn is_visible(text: &str) -> bool {
    text.chars().all(|c| !is_deceptive(c))
}

fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&b))
}

fn push_escaped(line: &mut String, c: char) {
    match c {
        '\n' => line.push_str("\\n"),
        '\r' => line.push_str("\\r"),
        '\t' => line.push_str("\\t"),
        _ if is_deceptive(c) => {
            // Writing to a String cannot fail.
            let _infallible = write!(line, "\\u{{{:x}}}", u32::from(c));
        }
        _ => line.push(c),
    }
}

/// Says whether a character does not print as itself: it is invisible, moves others, or looks like a blank.
fn is_deceptive(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let category = get_general_category(c);
    matches!(
        category,
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::SpaceSeparator
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
    ) || is_default_ignorable(c)
        // Symbols that are drawn as nothing: a Braille cell without dots, a note without a head.
        || matches!(c, '\u{2800}' | '\u{1d159}')
}

/// Says whether a character is drawn as nothing unless a program knows it: `Default_Ignorable_Code_Point` of the Unicode
/// Character Database, `DerivedCoreProperties.txt`, 16.0.
const fn is_default_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests;
