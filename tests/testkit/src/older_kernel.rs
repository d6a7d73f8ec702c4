//! A kernel that lacks guards, as one daemon alone meets it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test that cannot go on says so, and what is skipped"
)]

use crate::{Home, program::write_program, run};
use std::path::{Path, PathBuf};

/// Returns a program that starts the daemon as on a kernel that lacks these guards, such as `landlock,seccomp`: it goes
/// where the built binary goes otherwise. None, said aloud, where a kernel cannot be told to forget them.
///
/// # Panics
/// When `owl-older-kernel` was not built.
pub async fn older_kernel(owl: &Path, home: &Home, lacks: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().unwrap();
    let found = own.ancestors().skip(1).map(|above| above.join("owl-older-kernel")).find(|path| path.is_file());
    let older = found.expect("owl-older-kernel is not built: cargo build -p owl-testkit --bins");
    let tried = run(older.as_os_str(), &[lacks, "true"], &home.environment(), "").await;
    if tried.code != Some(0) {
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        eprintln!("SKIPPED: {test} ({})", tried.stderr.trim());
        return None;
    }
    let program = home.path().join("on-an-older-kernel");
    let script = format!("#!/bin/sh\nexec '{}' {lacks} '{}' \"$@\"\n", older.display(), owl.display());
    write_program(home, &program, &script).await;
    Some(program)
}
