//! What both services' decoders share: pieces are handed on, their sizes counted, faults named (D17).

use owl_domain::{
    limits,
    provider::{Piece, Usage, WholeReply},
    text::cut_bytes,
};
use serde_json::Value;

/// Turns the events of one service's stream into pieces and, at its end sign, into a whole reply.
pub(crate) trait Decoder: Send {
    /// Takes the data of one event and adds the pieces that it brings.
    ///
    /// # Errors
    /// [`Fault`] says why the reply is broken, whatever else came.
    fn event(&mut self, data: &str, pieces: &mut Vec<Piece>) -> Result<Progress, Fault>;

    /// Returns what was counted so far.
    fn tally(&self) -> &Tally;

    /// Returns the service's id for the reply, when a piece of it told one.
    fn reply_id(&self) -> Option<&str>;
}

/// Where a stream stands after an event.
#[derive(Debug, PartialEq)]
pub(crate) enum Progress {
    /// It goes on.
    More,
    /// Its end sign came, and nothing was missing.
    Whole(Box<WholeReply>),
}

/// Why a stream's events make no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An event's data is not what the service's form allows.
    Malformed(&'static str),
    /// The service reports an error inside the stream.
    Service {
        /// Its type or code.
        code: String,
        /// What it says.
        message: String,
    },
    /// It ended for a reason that Owl does not know.
    UnknownStop(String),
    /// Its end sign came too early: something was still open.
    Incomplete(&'static str),
    /// Over a bound.
    TooBig(&'static str),
}

/// What came so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Tokens, as far as they were told.
    pub(crate) usage: Usage,
    /// Whether text, reasoning or a call came: from then on nobody is asked again.
    pub(crate) content: bool,
    text: usize,
    reasoning: usize,
    arguments: usize,
    kept: usize,
}

impl Tally {
    /// Hands text on, up to the bound; empty text is nothing.
    pub(crate) fn text(&mut self, text: &str, pieces: &mut Vec<Piece>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        self.content = true;
        let fits = fitting(text, self.text);
        if !fits.is_empty() {
            pieces.push(Piece::Text(fits.into()));
        }
        add(&mut self.text, text.len(), "the reply's text is longer than 256 KiB")
    }

    /// Hands reasoning on, up to the bound; empty reasoning is nothing.
    pub(crate) fn reasoning(&mut self, text: &str, pieces: &mut Vec<Piece>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        self.content = true;
        let fits = fitting(text, self.reasoning);
        if !fits.is_empty() {
            pieces.push(Piece::Reasoning(fits.into()));
        }
        add(&mut self.reasoning, text.len(), "the reply's reasoning is longer than 256 KiB")
    }

    /// Counts what is kept to go back unmodified and shown to nobody.
    pub(crate) fn kept(&mut self, bytes: usize) -> Result<(), Fault> {
        add(&mut self.kept, bytes, "the reply's hidden parts are longer than 256 KiB")
    }

    /// Counts what is kept of a call. The gate takes far shorter lines; this only bounds what is stored.
    pub(crate) fn call(&mut self, bytes: usize) -> Result<(), Fault> {
        self.content = true;
        add(&mut self.arguments, bytes, "the reply's calls are longer than 256 KiB")
    }
}

/// Reads a number of tokens. None when it is not told; one that nobody believes is the most that is believed, since a
/// sum of such numbers could no longer be stored.
pub(crate) fn tokens(told: &Value) -> Option<u64> {
    let most = Usage::MOST_TOKENS_TOLD;
    match told.as_u64() {
        Some(tokens) => Some(tokens.min(most)),
        // Beyond 64 bits a JSON number is read as a fraction.
        None if told.is_f64() && told.as_f64().is_some_and(|tokens| tokens > 1e15) => Some(most),
        None => None,
    }
}

/// Reads what a reply cost, in USD. None when it is not told or below nothing.
pub(crate) fn cost(told: &Value) -> Option<f64> {
    let cost = told.as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0)?;
    Some(cost.min(Usage::MOST_COST_TOLD_USD))
}

/// Returns the start of a piece that fits behind `before` bytes: the text that came is kept when a reply is too big.
fn fitting(text: &str, before: usize) -> &str {
    cut_bytes(text, limits::REPLY_TEXT_BYTES.saturating_sub(before))
}

fn add(sum: &mut usize, bytes: usize, over: &'static str) -> Result<(), Fault> {
    *sum = sum.saturating_add(bytes);
    if *sum > limits::REPLY_TEXT_BYTES { Err(Fault::TooBig(over)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_a_piece_that_passes_the_bound_what_fits_is_handed_on() {
        for before in [0, 1, 1000] {
            let (mut tally, mut pieces) = (Tally::default(), Vec::new());
            tally.text(&"x".repeat(before), &mut pieces).unwrap();
            tally.reasoning(&"x".repeat(before), &mut pieces).unwrap();
            pieces.clear();
            // Two bytes each, so that the bound may lie within one.
            let long = "é".repeat(limits::REPLY_TEXT_BYTES);
            assert!(matches!(tally.text(&long, &mut pieces), Err(Fault::TooBig(_))));
            assert!(matches!(tally.reasoning(&long, &mut pieces), Err(Fault::TooBig(_))));
            let fits = "é".repeat((limits::REPLY_TEXT_BYTES - before) / 2);
            assert_eq!(pieces, [Piece::Text(fits.clone()), Piece::Reasoning(fits)], "{before}");
        }
    }

    #[test]
    fn tokens_and_costs_that_nobody_believes_are_bounded() {
        let most = Usage::MOST_TOKENS_TOLD;
        for (told, read) in [
            (json!(0), Some(0)),
            (json!(most), Some(most)),
            (json!(1_u64 << 62), Some(most)),
            (json!(u64::MAX), Some(most)),
            (json!(1e30), Some(most)),
            (json!(-1), None),
            (json!(-1e30), None),
            (json!(null), None),
            (json!("7"), None),
        ] {
            assert_eq!(tokens(&told), read, "{told}");
        }
        for (told, read) in [
            (json!(0), Some(0.0)),
            (json!(0.0125), Some(0.0125)),
            (json!(1e308), Some(Usage::MOST_COST_TOLD_USD)),
            (json!(-0.5), None),
            (json!(null), None),
            (json!("NaN"), None),
        ] {
            assert_eq!(cost(&told), read, "{told}");
        }
    }
}
