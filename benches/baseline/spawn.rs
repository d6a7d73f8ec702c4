//! Baseline of B14: the same program, arguments, environment and directory, started, read to its end and waited for.
#![expect(clippy::disallowed_types, reason = "a baseline starts the program as bare as it can be")]

use serde_json::Value;
use std::{
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Runs a command as a Proposal shows it.
pub(crate) fn run(command: &Value, workdir: &str) -> Duration {
    let words: Vec<&str> = command["argv"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let environment = command["env"].as_object().unwrap().iter();
    let start = Instant::now();
    let output = Command::new(command["program"].as_str().unwrap())
        .arg0(words[0])
        .args(&words[1..])
        .env_clear()
        .envs(environment.map(|(name, value)| (name, value.as_str().unwrap())))
        .current_dir(workdir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let took = start.elapsed();
    assert!(output.status.success());
    took
}
