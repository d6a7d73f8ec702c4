//! A program that tries one thing and says how it went: this very test binary, started again with `OWL_PROBE`.

use super::Lines;
use nix::{errno::Errno, sys::socket};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, exit},
    thread,
};

/// Returns the words with which the test binary becomes the probe.
pub(crate) fn argv() -> Lines {
    ["probe", "testing::probe::probe", "--exact", "--nocapture", "--test-threads=1"].map(Into::into).to_vec()
}

/// Returns the program that is the probe.
pub(crate) fn program() -> PathBuf {
    std::env::current_exe().unwrap().canonicalize().unwrap()
}

/// Not a test of its own unless it was started as the probe.
#[test]
fn probe() {
    let Ok(what) = std::env::var("OWL_PROBE") else { return };
    // The harness has begun a line.
    println!();
    for line in what.lines() {
        let words: Vec<&str> = line.split('|').collect();
        match attempt(&words) {
            Ok(said) => println!("[{line}] yes {said}"),
            Err(e) => println!(
                "[{line}] no {}",
                e.raw_os_error().map(Errno::from_raw).map_or(e.to_string(), |e| format!("{e:?}"))
            ),
        }
    }
    exit(0);
}

fn attempt(words: &[&str]) -> io::Result<String> {
    let quiet = |()| String::new();
    match *words {
        ["read", path] => fs::read_to_string(path),
        ["list", path] => {
            let mut names = fs::read_dir(path)?
                .map(|e| Ok(e?.file_name().to_string_lossy().into_owned()))
                .collect::<io::Result<Vec<_>>>()?;
            names.sort();
            Ok(names.join(" "))
        }
        ["create", path] => File::create_new(path).map(|_| String::new()),
        ["truncate", path] => OpenOptions::new().write(true).truncate(true).open(path).map(|_| String::new()),
        ["truncate-by-name", path] => nix::unistd::truncate(path, 0).map(quiet).map_err(Into::into),
        ["append", path] => OpenOptions::new().append(true).open(path).map(|_| String::new()),
        ["write", path] => fs::write(path, "x").map(quiet),
        ["rename", from, to] => fs::rename(from, to).map(quiet),
        ["link", from, to] => fs::hard_link(from, to).map(quiet),
        ["symlink", from, to] => std::os::unix::fs::symlink(from, to).map(quiet),
        ["remove", path] => fs::remove_file(path).map(quiet),
        // What Landlock knows nothing of.
        ["chmod", path] => fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o640)).map(quiet),
        ["chown", path] => std::os::unix::fs::chown(path, Some(0), Some(0)).map(quiet),
        ["touch", path] => File::open(path).and_then(|file| file.set_modified(std::time::UNIX_EPOCH)).map(quiet),
        ["mkdir", path] => fs::create_dir(path).map(quiet),
        ["spawn", program] => Command::new(program).arg("--version").output().map(|out| format!("{}", out.status)),
        ["exec", program] => Err(Command::new(program).arg("--version").exec()),
        ["thread"] => thread::spawn(|| "ran".to_owned()).join().map_err(|_| io::Error::other("panicked")),
        ["socket", family] => {
            let (family, kind) = match family {
                "inet" => (socket::AddressFamily::Inet, socket::SockType::Stream),
                "inet6" => (socket::AddressFamily::Inet6, socket::SockType::Datagram),
                "unix" => (socket::AddressFamily::Unix, socket::SockType::Stream),
                "netlink" => (socket::AddressFamily::Netlink, socket::SockType::Raw),
                "packet" => (socket::AddressFamily::Packet, socket::SockType::Raw),
                _ => return Err(io::Error::other("which family?")),
            };
            socket::socket(family, kind, socket::SockFlag::empty(), None).map(|_| String::new()).map_err(Into::into)
        }
        ["socketpair"] => {
            socket::socketpair(socket::AddressFamily::Unix, socket::SockType::Stream, None, socket::SockFlag::empty())
                .map(|_| String::new())
                .map_err(Into::into)
        }
        ["signal", pid] => {
            let pid = nix::unistd::Pid::from_raw(pid.parse().map_err(io::Error::other)?);
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGUSR1).map(quiet).map_err(Into::into)
        }
        ["environment"] => {
            let mut all: Vec<_> = std::env::vars().map(|(name, value)| format!("{name}={value}")).collect();
            all.sort();
            Ok(all.join(" ").replace('\n', "\\n"))
        }
        ["daemon", file] => {
            let text = format!("echo $$ > {file}; exec sleep 600");
            let run = async {
                let spawner = crate::Spawner::new();
                let command = super::script(&text, std::path::Path::new("/"));
                spawner.run_own(command, super::Flag::new()).await.map_err(io::Error::other)
            };
            tokio::runtime::Runtime::new()?.block_on(run).map(|output| format!("{output:?}"))
        }
        ["holder", file] => tokio::runtime::Runtime::new()?.block_on(async {
            let what = super::Try::new(owl_domain::gate::Program::Cat, &[], super::nothing());
            let held = super::Bench::new().await.hold("/".as_ref(), what).await.map_err(io::Error::other)?;
            fs::write(file, held.pid().to_string())?;
            std::future::pending().await
        }),
        _ => Err(io::Error::other("what?")),
    }
}
