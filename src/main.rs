//! The binary: parses arguments, runs one command, prints the error and its hint, sets the exit code (D5).

mod cli;
mod config;
mod daemon;
mod demo;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
