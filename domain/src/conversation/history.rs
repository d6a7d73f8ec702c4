//! What a model is sent of a Conversation (placeholder: the signature that the turn service calls; the shaping follows).

use crate::{
    provider::{Model, Request, ToolSpec},
    turn::StoredTurn,
};
use alloc::{string::String, vec::Vec};

/// How many bytes of earlier Turns are worth loading: the largest budget there is.
pub const MOST_BYTES: usize = 390_000;

/// A request that is valid, and how many Items did not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaped {
    /// The request.
    pub request: Request,
    /// How many older Items were left out.
    pub left_out: u32,
}

/// Shapes the request for the next round of `current`, whose model is asked.
#[must_use]
pub fn shape(
    system: String,
    tools: Vec<ToolSpec>,
    known: Option<&Model>,
    earlier: &[StoredTurn],
    current: &StoredTurn,
) -> Shaped {
    let _unused = (known, earlier);
    Shaped {
        request: Request {
            model: current.turn.model.clone(),
            system,
            tools,
            messages: Vec::new(),
            max_output_tokens: None,
        },
        left_out: 0,
    }
}
