//! What both services' decoders share: pieces are handed on, their sizes counted, faults named (D17).

use owl_domain::{
    limits,
    provider::{Piece, Usage, WholeReply},
};

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
    /// Hands text on; empty text is nothing.
    pub(crate) fn text(&mut self, text: &str, pieces: &mut Vec<Piece>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        self.content = true;
        add(&mut self.text, text.len(), "the reply's text is longer than 256 KiB")?;
        pieces.push(Piece::Text(text.into()));
        Ok(())
    }

    /// Hands reasoning on; empty reasoning is nothing.
    pub(crate) fn reasoning(&mut self, text: &str, pieces: &mut Vec<Piece>) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        self.content = true;
        add(&mut self.reasoning, text.len(), "the reply's reasoning is longer than 256 KiB")?;
        pieces.push(Piece::Reasoning(text.into()));
        Ok(())
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

fn add(sum: &mut usize, bytes: usize, over: &'static str) -> Result<(), Fault> {
    *sum = sum.saturating_add(bytes);
    if *sum > limits::REPLY_TEXT_BYTES { Err(Fault::TooBig(over)) } else { Ok(()) }
}
