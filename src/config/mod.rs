//! What a person writes down: the daemon's file and a Project's own, both strict (D3), and where things lie (D2).

pub(crate) mod daemon;
pub(crate) mod places;
pub(crate) mod project;
mod span;
pub(crate) mod strict;

/// The one version of both files that this Owl reads.
pub(crate) const API_VERSION: &str = "codingowl.dev/v1";
