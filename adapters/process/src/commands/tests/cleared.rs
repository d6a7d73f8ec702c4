//! The port as the domain uses it: what runs is what the gate cleared.

use super::*;
use crate::testing::handle;
use owl_domain::{
    gate::{Facts, Shown, check, clear, propose},
    ports::{Below, FileKind, Found, Located, Place},
    project::{Pin, Pins, Workdir},
    text::ProjectName,
};
use std::{os::unix::fs::MetadataExt, path::Path};

struct Ground {
    _home: tempfile::TempDir,
    root: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        fs::write(root.join("a.md"), "alpha\n").unwrap();
        Self { _home: home, root }
    }

    fn path(path: &Path) -> AbsPath {
        AbsPath::new(path.to_str().unwrap()).unwrap()
    }

    fn facts(&self, line: &str, program: Option<AbsPath>, wall: Wall) -> Facts {
        let pin = |path: &Path| {
            let is = fs::metadata(path).unwrap();
            Pin { path: Self::path(path), device: is.dev(), inode: is.ino() }
        };
        let pins = Pins { work_tree: pin(&self.root), git_dir: pin(&self.root), common_dir: pin(&self.root) };
        let found = |word: &str| {
            let path = self.root.join(word);
            let (handle, path) = (handle(&path), Self::path(&path));
            Place::Inside(Found { kind: FileKind::File, path, handle, below: Below::NotAsked })
        };
        let places = check(line).unwrap().looks().iter().map(|look| found(&look.word)).collect();
        Facts {
            workdir: Workdir { project: ProjectName::new("p").unwrap(), pins },
            program,
            wall,
            located: Located { root: handle(&self.root), places },
            git: None,
        }
    }

    /// Takes a line through the whole gate, as a consent would.
    fn cleared(&self, line: &str, program: Option<AbsPath>, wall: &Wall) -> (Shown, Cleared) {
        let facts = || self.facts(line, program.clone(), wall.clone());
        let shown = propose(check(line).unwrap(), &facts()).unwrap();
        let cleared = clear(&shown, facts()).unwrap();
        (shown, cleared)
    }
}

#[tokio::test]
async fn the_process_has_the_program_the_words_the_variables_and_the_directory_that_were_shown() {
    let ground = Ground::new();
    let commands = HostCommands::start(Spawner::new(), Sandbox::Off, &[]).await;
    // A program that waits can be looked at; the gate itself would refuse a named pipe.
    let pipe = ground.root.join("a b");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (shown, cleared) = ground.cleared("cat -n 'a b'", commands.program(Program::Cat), &commands.wall());
    let stop = Flag::new();
    let held = commands.hold(cleared, stop.clone()).await.unwrap();
    let pid = held.pid();
    let running = held.release().await.unwrap();
    // The kernel tells a program's words only when it set them up: it has when the program opens the pipe.
    let _writer = tokio::task::spawn_blocking(|| fs::File::options().write(true).open(pipe)).await.unwrap().unwrap();
    let of = |name: &str| PathBuf::from(format!("/proc/{pid}/{name}"));
    let zeros = |words: Vec<String>| words.into_iter().map(|word| word + "\0").collect::<String>();
    assert_eq!(fs::read_link(of("exe")).unwrap().to_str(), Some(shown.path.as_str()));
    assert_eq!(fs::read_to_string(of("cmdline")).unwrap(), zeros(shown.argv.clone()));
    let env = shown.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(fs::read_to_string(of("environ")).unwrap(), zeros(env));
    assert_eq!(fs::read_link(of("cwd")).unwrap().to_str(), Some(shown.workdir.as_str()));
    stop.tell();
    assert_eq!(finish(running).await.ended_by, EndedBy::Stopped);
}

#[tokio::test]
async fn what_was_cleared_prints_and_says_what_it_ran_under() {
    let ground = Ground::new();
    let commands = HostCommands::start(Spawner::new(), Sandbox::Auto, &[]).await;
    let (shown, cleared) = ground.cleared("wc -l a.md", commands.program(Program::Wc), &commands.wall());
    let ran = finish(commands.hold(cleared, Flag::new()).await.unwrap().release().await.unwrap()).await;
    assert_eq!((ran.stdout.head.as_str(), ran.exit_code), ("1 a.md\n", Some(0)));
    assert_eq!(ran.confinement, shown.confinement);
}

#[tokio::test]
async fn a_program_that_was_not_found_at_start_is_never_run() {
    let ground = Ground::new();
    let commands = HostCommands::start(Spawner::new(), Sandbox::Auto, &[]).await;
    let other = commands.program(Program::Head);
    let (_, cleared) = ground.cleared("cat a.md", other, &commands.wall());
    let error = commands.hold(cleared, Flag::new()).await.err().unwrap().to_string();
    assert!(error.ends_with("is not the cat that was found at start"), "{error}");
}

#[tokio::test]
async fn without_both_guards_nothing_runs_where_they_are_required() {
    let ground = Ground::new();
    let measured = Measured { landlock: true, seccomp: false, abi: Some(7) };
    let commands = host(Spawner::new(), Sandbox::Required, measured);
    // The gate refuses it first; here it is told that nothing is required.
    let wall = Wall { sandbox: Sandbox::Auto, ..commands.wall() };
    let (_, cleared) = ground.cleared("cat a.md", commands.program(Program::Cat), &wall);
    let error = commands.hold(cleared, Flag::new()).await.err().unwrap().to_string();
    assert_eq!(error, "`sandbox: required`, and this kernel lacks seccomp");
}

#[tokio::test]
async fn a_command_that_waits_for_its_turn_can_be_stopped() {
    let ground = Ground::new();
    let commands = HostCommands::start(Spawner::new(), Sandbox::Off, &[]).await;
    let mut held = Vec::new();
    for _ in 0..limits::COMMANDS_RUNNING {
        let (_, cleared) = ground.cleared("cat a.md", commands.program(Program::Cat), &commands.wall());
        held.push(commands.hold(cleared, Flag::new()).await.unwrap());
    }
    let (_, cleared) = ground.cleared("cat a.md", commands.program(Program::Cat), &commands.wall());
    let stop = Flag::new();
    let mut waiting = Box::pin(commands.hold(cleared, stop.clone()));
    assert!(futures_poll(&mut waiting).await.is_none());
    stop.tell();
    assert_eq!(waiting.await.err(), Some(CommandError::Stopped));
    let (_, cleared) = ground.cleared("cat a.md", commands.program(Program::Cat), &commands.wall());
    let mut waiting = Box::pin(commands.hold(cleared, Flag::new()));
    assert!(futures_poll(&mut waiting).await.is_none());
    drop(held.pop());
    let ran = finish(waiting.await.unwrap().release().await.unwrap()).await;
    assert_eq!(ran.stdout.head, "alpha\n");
}
