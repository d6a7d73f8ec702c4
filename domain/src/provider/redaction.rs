//! Takes an Account's token out of what its Agent and a Project's checks print, before any of it is stored or told (D18).
//! The Agent itself keeps it, in its environment.

use super::Secret;
use crate::text::Clipped;
use alloc::{borrow::Cow, format};

/// What stands in the place of a token.
const MARK: &str = "[token]";
/// Shorter ones cannot be told from other text, and would break the lines of a stream.
const LEAST_BYTES: usize = 8;
/// Of a token that was cut off, as much as this may stand: four characters are shown of it anyway.
const SHOWN_BYTES: usize = 4;

/// The token that is taken out, if there is one.
#[derive(Debug, Clone, Default)]
pub struct Redaction(Option<Secret>);

impl Redaction {
    /// Takes the token of a Run's own Account, if that has one.
    pub fn of(token: Option<Secret>) -> Self {
        Self(token.filter(|token| token.expose().len() >= LEAST_BYTES))
    }

    /// Returns a text without the token; the very text when it does not hold it.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.0 {
            Some(token) if text.contains(token.expose()) => text.replace(token.expose(), MARK).into(),
            Some(_) | None => text.into(),
        }
    }

    /// Likewise of a text whose end was cut off, perhaps in the middle of a token.
    pub fn cut_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let whole = self.text(text);
        let token = self.0.as_ref().map_or("", Secret::expose);
        let parts = (SHOWN_BYTES + 1..token.len()).rev().filter_map(|most| token.get(..most));
        match parts.into_iter().find_map(|part| whole.strip_suffix(part)) {
            Some(rest) => format!("{rest}{MARK}").into(),
            None => whole,
        }
    }

    /// Likewise of a stream of which the middle was left out.
    #[must_use]
    pub fn clipped(&self, clipped: Clipped) -> Clipped {
        if clipped.omitted_bytes == 0 {
            return Clipped { head: self.text(&clipped.head).into_owned(), ..clipped };
        }
        let head = self.cut_text(&clipped.head).into_owned();
        let tail = self.text(&clipped.tail);
        let token = self.0.as_ref().map_or("", Secret::expose);
        let parts = (1..token.len().saturating_sub(SHOWN_BYTES)).filter_map(|from| token.get(from..));
        let tail = match parts.into_iter().find_map(|part| tail.strip_prefix(part)) {
            Some(rest) => format!("{MARK}{rest}"),
            None => tail.into_owned(),
        };
        Clipped { head, tail, ..clipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "sk-ant-oat01-7Q2x";

    fn redaction() -> Redaction {
        Redaction::of(Secret::new(TOKEN).ok())
    }

    #[test]
    fn a_token_is_taken_out_wherever_it_stands_and_nothing_else_is() {
        assert_eq!(redaction().text(&format!("{TOKEN}={TOKEN}.")), "[token]=[token].");
        assert!(matches!(redaction().text("sk-ant-oat01"), Cow::Borrowed("sk-ant-oat01")));
        assert_eq!(Redaction::default().text(TOKEN), TOKEN);
        assert_eq!(Redaction::of(Secret::new("type").ok()).text("a type"), "a type", "too short to be told from text");
    }

    #[test]
    fn a_token_that_was_cut_off_leaves_no_more_than_four_characters() {
        let clipped = |head: &str, tail: &str| {
            let (head, tail) = (head.into(), tail.into());
            redaction().clipped(Clipped { head, tail, bytes: 99, omitted_bytes: 9, ..Clipped::default() })
        };
        for cut in 0..=TOKEN.len() {
            let (start, end) = TOKEN.split_at(cut);
            let Clipped { head, tail, .. } = clipped(&format!("a {start}"), &format!("{end} z"));
            assert_eq!(head, if cut > 4 { "a [token]".into() } else { format!("a {start}") });
            assert_eq!(tail, if end.len() > 4 { "[token] z".into() } else { format!("{end} z") });
        }
        let whole = redaction().clipped(Clipped { head: format!("a {TOKEN}"), ..Clipped::default() });
        assert_eq!((whole.head.as_str(), whole.tail.as_str()), ("a [token]", ""));
    }
}
