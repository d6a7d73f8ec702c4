//! `owl completions`: made from the same tree as the help.

use super::{Failed, Out, Owl};
use clap::{Args, CommandFactory as _};

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Which shell
    shell: clap_complete::Shell,
}

pub(super) fn run(command: &Completions, out: &mut Out) -> Result<(), Failed> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Owl::command(), "owl", &mut script);
    out.line(String::from_utf8_lossy(&script).trim_end())
}
