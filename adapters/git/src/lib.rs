//! owl-git: git on Owl's own behalf (D2, D14). What a repository is, its worktrees, its base branch, and the directory
//! that the chat's git is given in place of the repository's configuration. It starts git through owl-process alone,
//! never with the repository's own configuration, so that nothing which a repository names is ever started.
#![forbid(unsafe_code)]

mod base;
mod config;
mod git;
mod index;
mod inspect;
mod layout;
mod lenders;
mod links;
mod owned;
mod pins;
mod read;
mod repositories;
mod submodules;
mod worktrees;

pub use repositories::{GitJobs, GitRepositories};

#[cfg(test)]
mod testing;
