//! A Conversation, its Items, and what a model is sent of them (D16).

pub mod export;
pub mod history;
mod item;
mod page;
mod service;

pub use item::*;
pub use page::*;
pub use service::*;

use crate::{
    ids::{ConversationId, Seq},
    limits,
    provider::{ModelRef, Usage},
    text::{AbsPath, ProjectName, cut_chars},
    time::Timestamp,
};
use alloc::string::String;

/// A Conversation as it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// Given, or made of the first question; empty before that.
    pub title: String,
    /// Where its next Turn's commands run.
    pub workdir: Option<AbsPath>,
    /// The Project of that directory, while it is registered.
    pub project: Option<ProjectName>,
    /// The model its next Turn asks.
    pub model: Option<ModelRef>,
    /// Whether a Turn is at work.
    pub state: ConversationState,
    /// Whether it was put away.
    pub archived: bool,
    /// Grows by one with each change to title, workdir, model or archived.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last spoken to or changed.
    pub updated_at: Timestamp,
    /// The number of its newest event.
    pub last_seq: Option<Seq>,
    /// How many Items it has.
    pub item_count: u64,
    /// How many Proposals wait.
    pub pending_count: u64,
    /// What its Turns used.
    pub usage: Usage,
}

/// Whether a Turn is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationState {
    /// None.
    Idle,
    /// One is.
    Running,
    /// One waits for a person and does nothing else.
    AwaitingConsent,
}

impl ConversationState {
    /// Returns its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::AwaitingConsent => "awaiting_consent",
        }
    }

    /// Returns the state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Idle, Self::Running, Self::AwaitingConsent].into_iter().find(|state| state.name() == name)
    }
}

/// Makes a title of the first question: its first line that is not blank, cut on characters, without controls.
#[must_use]
pub fn automatic_title(question: &str) -> String {
    let plain = |line: &str| -> String { line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect() };
    let mut lines = question.lines().map(plain);
    let line = lines.find(|line| !line.trim().is_empty()).unwrap_or_default();
    cut_chars(line.trim(), limits::AUTO_TITLE_CHARS)
}

#[cfg(test)]
mod tests;
