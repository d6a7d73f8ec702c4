//! Consent: a Proposal is stored, has exactly one outcome, and a Grant remembers an answer (ADR-0022, D8, D9).

mod answer;
mod grant;
mod proposal;

pub use answer::*;
pub use grant::*;
pub use proposal::*;

#[cfg(test)]
mod tests;
