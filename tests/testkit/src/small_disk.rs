//! A disk that is soon full: some MiB of memory as the file system of one directory, as one daemon alone sees it.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on says so, and what is skipped")]

use crate::{Home, program::write_program, run};
use std::{
    fs::{self, DirBuilder, File},
    io::{ErrorKind, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

/// The directory that is a disk of its own, and the program that starts a daemon which has it.
pub struct SmallDisk {
    at: PathBuf,
    /// Starts the daemon: goes where the built binary goes otherwise.
    pub program: PathBuf,
}

impl SmallDisk {
    /// Prepares one of so many MiB at a directory below a home. None, said aloud, where nobody may mount anything: that
    /// takes Linux, and root or a user name space.
    pub async fn prepare(owl: &Path, home: &Home, below: &str, mib: u32) -> Option<Self> {
        let at = home.path().join(below);
        DirBuilder::new().recursive(true).mode(0o700).create(&at).unwrap();
        let program = home.path().join("on-a-small-disk");
        let user = if nix::unistd::geteuid().is_root() { "" } else { "--map-root-user" };
        let mount = format!("mount -t tmpfs -o size={mib}m,mode=0700 owl '{}'", at.display());
        let script = format!("#!/bin/sh\nexec unshare --mount {user} sh -c \"{mount} && exec \\\"\\$@\\\"\" sh ");
        write_program(home, &program, &format!("{script} true\n")).await;
        let tried = run(program.as_os_str(), &[], &home.environment(), "").await;
        if tried.code != Some(0) {
            let test = std::thread::current().name().unwrap_or_default().to_owned();
            eprintln!("SKIPPED: {test} (no disk of its own can be mounted here: {})", tried.stderr.trim());
            return None;
        }
        write_program(home, &program, &format!("{script} '{}' \"$@\"\n", owl.display())).await;
        Some(Self { at, program })
    }

    /// Returns a path on the disk as others than the daemon reach it.
    #[must_use]
    pub fn seen(&self, daemon: u32, path: &Path) -> PathBuf {
        Path::new("/proc").join(daemon.to_string()).join("root").join(path.strip_prefix("/").unwrap())
    }

    /// Leaves no room on it.
    pub fn fill(&self, daemon: u32) {
        let mut file = File::options().create(true).append(true).open(self.filler(daemon)).unwrap();
        let full = loop {
            if let Err(full) = file.write_all(&[0; 4_096]) {
                break full;
            }
        };
        assert_eq!(full.kind(), ErrorKind::StorageFull);
    }

    /// Gives the room back.
    pub fn empty(&self, daemon: u32) {
        fs::remove_file(self.filler(daemon)).unwrap();
    }

    fn filler(&self, daemon: u32) -> PathBuf {
        self.seen(daemon, &self.at.join("filler"))
    }
}
