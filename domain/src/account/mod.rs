//! An Account: a subscription with its own configuration directory of the coding tool (ADR-0035, D5, D19).

mod service;

pub use service::*;

use crate::{
    text::{AbsPath, AccountName},
    time::Timestamp,
};

/// An Account as it is stored. Its token is in the credential store, what its Agents may do in its own file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Its unique name.
    pub name: AccountName,
    /// Its configuration directory.
    pub directory: AbsPath,
    /// When Owl last created its settings file.
    pub seeded_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}
