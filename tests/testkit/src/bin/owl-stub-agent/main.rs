//! Stands in for Claude Code in the test suite (D23). It is stricter than the tool on purpose: in print mode it exits with
//! 97 without a settings file, with one that allows nothing, or with prompts left on, so that no test passes in which a
//! real Agent could do nothing (ADR-0035). Otherwise it says only what the real tool was seen to say.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program that is read by its output")]
#![expect(clippy::unwrap_used, reason = "a stub that cannot go on has to end, and the test with it")]

mod decide;
mod flags;
mod record;
mod script;
mod settings;
mod tools;

use flags::{Flags, Parsed};
use script::Player;
use std::{
    process::exit,
    sync::atomic::{AtomicBool, AtomicI32, Ordering},
    thread,
};

/// The exit status of what the stub does not accept, and the real tool would.
const NOT_ACCEPTED: i32 = 97;
/// The exit status of a tool that was ended by SIGTERM.
const TERMINATED: i32 = 143;

/// Whether the script lets SIGTERM end it.
static IGNORES_TERM: AtomicBool = AtomicBool::new(false);
/// The command at work, the leader of its own session; 0 when there is none.
static COMMAND: AtomicI32 = AtomicI32::new(0);
/// Whether it ends: a command that ended with it has no result.
static ENDS: AtomicBool = AtomicBool::new(false);

fn main() {
    let version = flags::Version::configured();
    let argv: Vec<String> = std::env::args().skip(1).collect();
    let flags = match Flags::read(&argv, &version) {
        Parsed::Version => {
            println!("{version} (Claude Code)");
            return;
        }
        Parsed::Help => {
            print!("{}", flags::help(&version));
            return;
        }
        Parsed::Wrong(message) => {
            eprintln!("{message}");
            exit(1);
        }
        Parsed::Flags(flags) => flags,
    };
    if !flags.print {
        refuse("only print mode is played; give --print");
    }
    listen_for_term(version.tells_denials());
    record::write(&flags);
    let settings = match settings::load() {
        Ok(settings) => settings,
        Err(why) => refuse(&why),
    };
    if settings.allow.is_empty() {
        refuse("the settings file allows nothing, so a real Agent would be denied everything");
    }
    if !flags.prompts_are_off() {
        refuse("prompts are on, and nobody could answer them");
    }
    if flags.skips_permissions {
        refuse("a flag skips permissions");
    }
    let Some(prompt) = flags.prompt.clone() else { refuse("there is no prompt behind `--`") };
    let judge = decide::Judge::new(&flags, settings, &version);
    if judge.bypasses() && nix::unistd::geteuid().is_root() {
        eprintln!("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons");
        exit(1);
    }
    Player::new(judge, version, prompt).play()
}

fn refuse(why: &str) -> ! {
    eprintln!("owl-stub-agent: {why}");
    exit(NOT_ACCEPTED)
}

/// Ends as the real tool does on SIGTERM: with a status of its own, and without its command where the version does that.
fn listen_for_term(ends_its_command: bool) {
    let (ready, is_ready) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).unwrap();
            ready.send(()).unwrap();
            while term.recv().await.is_some() {
                if IGNORES_TERM.load(Ordering::SeqCst) {
                    continue;
                }
                ENDS.store(true, Ordering::SeqCst);
                let command = COMMAND.load(Ordering::SeqCst);
                if ends_its_command && command != 0 {
                    let group = nix::unistd::Pid::from_raw(command);
                    nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).unwrap_or_default();
                }
                exit(TERMINATED);
            }
        });
    });
    is_ready.recv().unwrap();
}
