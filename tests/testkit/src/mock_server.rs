//! Starts a third party's mock server for one test, on a port that it chooses, and ends it with the test (D17).

use std::{
    io::{self, BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

/// How long a server may take until it says where it listens.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// A server that is ended when this is dropped.
#[derive(Debug)]
pub struct MockServer {
    child: Child,
    url: String,
}

impl MockServer {
    /// Starts a program and waits until it prints `before` and, right after it, the address it listens at.
    ///
    /// # Errors
    /// When it cannot be started, or does not say in time where it listens.
    pub fn start(program: &Path, arguments: &[&str], before: &'static str) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (told, heard) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            listen(stdout, before, told.clone());
        }
        if let Some(stderr) = child.stderr.take() {
            listen(stderr, before, told);
        }
        let mut server = Self { child, url: String::new() };
        server.url = heard
            .recv_timeout(STARTS_WITHIN)
            .map_err(|_| io::Error::other(format!("{} did not say where it listens", program.display())))?;
        Ok(server)
    }

    /// Returns its address.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        // One that has ended by itself cannot be killed; either way it is reaped.
        self.child.kill().and_then(|()| self.child.wait()).map(drop).unwrap_or_default();
    }
}

/// Runs one test of this binary again in a process of its own, with an environment of its own.
///
/// # Errors
/// What it printed, when it failed.
pub fn run_again(test: &str, environment: &[(&str, &str)]) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", test]).envs(environment.iter().copied()).stdin(Stdio::null());
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    // A name that fits no test would be a success too.
    if output.status.success() && said.contains("1 passed") {
        return Ok(());
    }
    Err(io::Error::other(said.into_owned()))
}

/// Reads to the end, so that the program never waits for a reader, and tells the first address.
fn listen(output: impl io::Read + Send + 'static, before: &'static str, told: mpsc::Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some((_, rest)) = line.split_once(before) {
                let address: String = rest.trim_start().chars().take_while(|c| !c.is_whitespace()).collect();
                // Nobody listens after the first address.
                told.send(address).unwrap_or_default();
            }
        }
    });
}
