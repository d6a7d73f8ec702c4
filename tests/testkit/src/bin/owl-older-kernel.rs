//! Runs a program as on a kernel that lacks guards, or where they are forbidden to it:
//! `owl-older-kernel landlock,seccomp PROGRAM [WORD…]`, `owl-older-kernel forbidden:landlock PROGRAM [WORD…]`.

#![expect(clippy::print_stderr, reason = "it says why it could not become the program")]

use std::process::ExitCode;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("owl-older-kernel: this system has none of the guards to begin with");
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    eprintln!("owl-older-kernel: {}", linux::run());
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
mod linux {
    use nix::libc;
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};
    use std::{collections::BTreeMap, error::Error, os::unix::process::CommandExt as _, process::Command};

    /// Becomes the program. Returns why it could not.
    pub(super) fn run() -> Box<dyn Error> {
        let mut words = std::env::args_os().skip(1);
        let (Some(lacks), Some(program)) = (words.next(), words.next()) else {
            return "which guards are to be lacking, and which program is to run?".into();
        };
        match forget(&lacks.to_string_lossy()) {
            Ok(()) => Command::new(program).args(words).exec().into(),
            Err(error) => error,
        }
    }

    /// Has the system calls of these guards answer as on a kernel that does not know them, or forbids them.
    fn forget(guards: &str) -> Result<(), Box<dyn Error>> {
        let (guards, errno) =
            guards.strip_prefix("forbidden:").map_or((guards, libc::ENOSYS), |guards| (guards, libc::EPERM));
        let mut calls = BTreeMap::new();
        for guard in guards.split(',') {
            let call = match guard {
                "landlock" => libc::SYS_landlock_create_ruleset,
                "seccomp" => libc::SYS_seccomp,
                other => return Err(format!("`{other}` is no guard").into()),
            };
            calls.insert(call, Vec::new());
        }
        let unknown = SeccompAction::Errno(errno.cast_unsigned());
        let filter =
            SeccompFilter::new(calls, SeccompAction::Allow, unknown, TargetArch::try_from(std::env::consts::ARCH)?)?;
        Ok(apply_filter(&BpfProgram::try_from(filter)?)?)
    }
}
