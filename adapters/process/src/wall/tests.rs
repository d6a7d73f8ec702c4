//! The wall alone: what the gate would refuse is given to `launch` directly (D13).

use super::*;
use crate::testing::{Bench, Try, files, finish, handle, nothing, reached};
use owl_domain::{
    gate::{Access, Confinement, Sandbox},
    ports::{GitHome, Hidden, Wall},
    project::Pin,
    text::AbsPath,
};
use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
};

/// A workdir with a neighbour that must not be read.
struct Ground {
    _all: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let all = tempfile::tempdir().unwrap();
        let base = all.path().canonicalize().unwrap();
        let (root, outside) = (base.join("work"), base.join("outside"));
        for directory in [root.join("src/deep"), root.join(".git/refs"), outside.clone()] {
            fs::create_dir_all(directory).unwrap();
        }
        for (file, text) in [
            ("a.md", "alpha\n"),
            ("b.md", "beta\n"),
            ("src/one.rs", "one alpha\n"),
            ("src/deep/two.rs", "two alpha\n"),
            (".git/config", "alpha SECRET\n"),
            (".git/refs/alpha", "alpha SECRET\n"),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        fs::write(outside.join("secret.txt"), "alpha SECRET\n").unwrap();
        Self { _all: all, root, outside }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Everything below both directories with its content and times, to see that nothing was changed.
    fn state(&self) -> Vec<String> {
        fn walk(path: &Path, into: &mut Vec<String>) {
            let is = path.symlink_metadata().unwrap();
            let content = if is.is_file() { fs::read_to_string(path).unwrap() } else { String::new() };
            into.push(format!("{} {:?} {:?} {content}", path.display(), is.permissions(), is.modified().unwrap()));
            if is.is_dir() {
                fs::read_dir(path).unwrap().for_each(|entry| walk(&entry.unwrap().path(), into));
            }
        }
        let mut all = Vec::new();
        walk(self.root.parent().unwrap(), &mut all);
        all.sort();
        all
    }
}

fn read_tree(path: &Path, hidden: &[&str]) -> Reach {
    let hidden = hidden.iter().map(|path| Hidden(path.as_bytes().to_vec())).collect();
    Reach::Operands(vec![reached(path, Access::ReadTree(hidden))])
}

#[tokio::test]
async fn only_the_operand_can_be_read_and_nothing_else_inside_or_outside() {
    let Some(bench) = Bench::walled("only_the_operand_can_be_read").await else { return };
    let ground = Ground::new();
    let (a, b, secret) = (ground.at("a.md"), ground.at("b.md"), ground.outside.join("secret.txt"));
    let what = [&a, &b, &secret].map(|path| format!("read|{}", path.display())).join("\n")
        + &format!(
            "\nlist|{}\nlist|{}\nlist|/\nread|/etc/passwd\nread|/proc/self/environ",
            ground.root.display(),
            ground.outside.display()
        );
    let said = bench.probe(&ground.root, &what, files(&[&a])).await;
    assert_eq!(said[0], format!("[read|{}] yes alpha", a.display()));
    for line in &said[1..] {
        assert!(line.ends_with("no EACCES"), "{line}");
    }
    let open = bench.open().probe(&ground.root, &what, files(&[&a])).await;
    assert!(open.iter().all(|line| line.contains("] yes")), "without the wall all of it works: {open:?}");
}

#[tokio::test]
async fn cat_of_what_it_was_not_given_prints_an_error_and_no_content() {
    let Some(bench) = Bench::walled("cat_of_what_it_was_not_given").await else { return };
    let ground = Ground::new();
    let words = ["--", "a.md", "b.md", "../outside/secret.txt", ".git/config"];
    let ran = bench.run(&ground.root, Try::new(Program::Cat, &words, files(&[&ground.at("a.md")]))).await;
    assert_eq!((ran.stdout.head.as_str(), ran.exit_code), ("alpha\n", Some(1)));
    assert_eq!(ran.stderr.head.matches("Permission denied").count(), 3, "{}", ran.stderr.head);
}

#[tokio::test]
async fn nothing_on_disk_can_be_changed_and_the_null_device_can_be_written() {
    let Some(bench) = Bench::walled("nothing_on_disk_can_be_changed").await else { return };
    let ground = Ground::new();
    let before = ground.state();
    let (root, outside) = (ground.root.display(), ground.outside.display());
    let what = format!(
        "create|{root}/new\nwrite|{root}/a.md\ntruncate|{root}/a.md\ntruncate-by-name|{root}/a.md\nappend|{root}/a.md\n\
         rename|{root}/a.md|{root}/c.md\nlink|{root}/a.md|{root}/d.md\nsymlink|x|{root}/e\nremove|{root}/a.md\n\
         mkdir|{root}/dir\ncreate|{outside}/new\nremove|{outside}/secret.txt\nwrite|/dev/null"
    );
    let said = bench.probe(&ground.root, &what, read_tree(&ground.root, &[".git"])).await;
    for line in &said[..12] {
        assert!(line.ends_with("no EACCES"), "{line}");
    }
    assert_eq!(said[12], "[write|/dev/null] yes ");
    assert_eq!(ground.state(), before);
    // Owner, mode and times are no file rights to Landlock: the filter holds these.
    let what = format!("chmod|{root}/a.md\nchown|{root}/a.md\ntouch|{root}/a.md");
    for line in bench.probe(&ground.root, &what, read_tree(&ground.root, &[".git"])).await {
        assert!(line.ends_with("no EPERM"), "{line}");
    }
    assert_eq!(ground.state(), before);
}

#[tokio::test]
async fn no_process_starts_and_threads_still_work() {
    let Some(bench) = Bench::walled("no_process_starts").await else { return };
    let ground = Ground::new();
    let what = "spawn|/usr/bin/wc\nexec|/usr/bin/wc\nspawn|/proc/self/exe\nthread";
    let said = bench.probe(&ground.root, what, nothing()).await;
    let expected = [
        "[spawn|/usr/bin/wc] no EPERM",
        "[exec|/usr/bin/wc] no EACCES",
        "[spawn|/proc/self/exe] no EPERM",
        "[thread] yes ran",
    ];
    assert_eq!(said, expected);
    let open = bench.open().probe(&ground.root, "spawn|/usr/bin/wc", nothing()).await;
    assert_eq!(open, ["[spawn|/usr/bin/wc] yes exit status: 0"]);
}

#[tokio::test]
async fn a_shell_that_got_past_the_gate_can_start_nothing() {
    let Some(bench) = Bench::walled("a_shell_that_got_past_the_gate").await else { return };
    let ground = Ground::new();
    let shell = Try {
        program: "/bin/sh".into(),
        argv: ["sh", "-c", "(echo forked); /usr/bin/wc --version; echo end"].map(Into::into).to_vec(),
        ..Try::new(Program::Cat, &[], nothing())
    };
    let ran = bench.run(&ground.root, shell).await;
    assert!(!ran.stdout.head.contains("forked") && !ran.stdout.head.contains("GNU"), "{ran:?}");
}

#[tokio::test]
async fn no_socket_of_any_family_can_be_opened() {
    let Some(bench) = Bench::walled("no_socket_of_any_family").await else { return };
    let ground = Ground::new();
    let what = "socket|inet\nsocket|inet6\nsocket|unix\nsocket|netlink\nsocket|packet\nsocketpair";
    for line in bench.probe(&ground.root, what, nothing()).await {
        assert!(line.ends_with("no EPERM"), "{line}");
    }
}

#[tokio::test]
async fn no_process_outside_can_be_signalled() {
    let Some(bench) = Bench::walled("no_process_outside_can_be_signalled").await else { return };
    if bench.measured.abi < Some(6) {
        eprintln!("SKIPPED no_process_outside_can_be_signalled: Landlock {:?}", bench.measured.abi);
        return;
    }
    let ground = Ground::new();
    let what = format!("signal|{}", std::process::id());
    let said = bench.probe(&ground.root, &what, nothing()).await;
    assert!(said[0].ends_with("no EPERM"), "{said:?}");
}

#[tokio::test]
async fn a_held_command_whose_operand_is_swapped_never_reads_what_it_leads_to_now() {
    let Some(bench) = Bench::walled("a_held_command_whose_operand_is_swapped").await else { return };
    let ground = Ground::new();
    let (file, link) = (ground.at("a.md"), ground.at("link"));
    let read = async |bench: &Bench, swap: &dyn Fn()| {
        let held = bench.hold(&ground.root, Try::new(Program::Cat, &["--", "a.md"], files(&[&file]))).await.unwrap();
        swap();
        crate::testing::finish(held.release().await.unwrap()).await
    };
    let to_link = || {
        symlink("../outside/secret.txt", &link).unwrap();
        fs::rename(&link, &file).unwrap();
    };
    let back = || {
        fs::remove_file(&file).unwrap();
        fs::write(&file, "alpha\n").unwrap();
    };
    for _ in 0..200 {
        let ran = read(&bench, &to_link).await;
        assert!(ran.stdout.head.is_empty() && ran.stderr.head.contains("Permission denied"), "{ran:?}");
        back();
    }
    // A hard link is the file itself, and a replaced file is another one.
    let ran = read(&bench, &|| fs::rename(ground.at("b.md"), &file).unwrap()).await;
    assert!(ran.stdout.head.is_empty(), "{ran:?}");
    back();
    // What the gate alone cannot see: the same swap without the wall reads the secret.
    let ran = read(&bench.open(), &to_link).await;
    assert_eq!(ran.stdout.head, "alpha SECRET\n");
}

#[tokio::test]
async fn a_file_that_is_swapped_all_the_time_never_shows_what_lies_outside() {
    let Some(bench) = Bench::walled("a_file_that_is_swapped_all_the_time").await else { return };
    let ground = Ground::new();
    let file = ground.at("a.md");
    let running = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let swapper = std::thread::spawn({
        let (running, root) = (Arc::clone(&running), ground.root.clone());
        move || {
            let (spare, link) = (root.join("spare"), root.join("link"));
            while running.load(std::sync::atomic::Ordering::Relaxed) {
                symlink("../outside/secret.txt", &link).unwrap();
                fs::rename(&link, root.join("a.md")).unwrap();
                fs::write(&spare, "alpha\n").unwrap();
                fs::rename(&spare, root.join("a.md")).unwrap();
            }
        }
    });
    let (mut read, mut refused) = (0, 0);
    // However busy the machine is, some swap falls in between in the end.
    for tried in 0..1_000_000 {
        if tried >= 1000 && refused > 0 {
            break;
        }
        tokio::task::yield_now().await;
        // As the path check does: where the descriptor is decides, and a link that leads out is refused.
        let flags = nix::fcntl::OFlag::O_PATH | nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_CLOEXEC;
        let Ok(opened) = nix::fcntl::open(&file, flags, nix::sys::stat::Mode::empty()) else { continue };
        let is = nix::sys::stat::fstat(&opened).unwrap();
        if is.st_mode & nix::libc::S_IFMT != nix::libc::S_IFREG {
            continue;
        }
        let operand = owl_domain::gate::Reached { handle: Handle::new(opened), access: Access::ReadFile };
        let ran =
            bench.run(&ground.root, Try::new(Program::Cat, &["--", "a.md"], Reach::Operands(vec![operand]))).await;
        assert!(!ran.stdout.head.contains("SECRET"), "{ran:?}");
        if ran.exit_code == Some(0) { read += 1 } else { refused += 1 }
    }
    running.store(false, std::sync::atomic::Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(refused > 0, "no swap fell between check and open: {read} read");
}

#[tokio::test]
async fn a_searched_tree_shows_nothing_of_what_is_hidden_in_it() {
    let Some(bench) = Bench::walled("a_searched_tree_shows_nothing").await else { return };
    let ground = Ground::new();
    fs::create_dir_all(ground.at("src/deep/store.git/refs")).unwrap();
    fs::write(ground.at("src/deep/store.git/config"), "alpha SECRET\n").unwrap();
    symlink("../outside", ground.at("src/out")).unwrap();
    let words = ["-r", "alpha", "."];
    let reach = || read_tree(&ground.root, &[".git", "src/deep/store.git"]);
    let ran = bench.run(&ground.root, Try::new(Program::Grep, &words, reach())).await;
    let mut lines: Vec<_> = ran.stdout.head.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["./a.md:alpha", "./src/deep/two.rs:two alpha", "./src/one.rs:one alpha"]);
    assert!(ran.stderr.head.contains(".git/config: Permission denied"), "{}", ran.stderr.head);
    let ran = bench.open().run(&ground.root, Try::new(Program::Grep, &words, reach())).await;
    assert!(ran.stdout.head.contains("SECRET"), "without the wall it finds it");
    // A tree with nothing hidden is one rule, and a file takes it as well.
    let whole = read_tree(&ground.at("src"), &[]);
    let ran = bench.run(&ground.root, Try::new(Program::Grep, &["-rc", "alpha", "src"], whole)).await;
    assert_eq!(ran.stdout.head.lines().count(), 3, "{ran:?}");
    let file = read_tree(&ground.at("a.md"), &[]);
    assert_eq!(
        bench.run(&ground.root, Try::new(Program::Grep, &["-r", "alpha", "a.md"], file)).await.stdout.head,
        "alpha\n"
    );
}

#[tokio::test]
async fn what_is_hidden_far_down_is_left_out_and_further_down_nothing_runs() {
    let Some(bench) = Bench::walled("what_is_hidden_far_down").await else { return };
    let ground = Ground::new();
    let tower = |levels: usize| format!("{}x.git", "d/".repeat(levels));
    fs::create_dir_all(ground.at(&tower(1_000))).unwrap();
    fs::create_dir_all(ground.at(&tower(130))).unwrap();
    fs::write(ground.at(&tower(130)).join("config"), "alpha SECRET\n").unwrap();
    fs::write(ground.at(&"d/".repeat(130)).join("seen"), "alpha\n").unwrap();
    let run = |hidden: String| {
        let hidden: Vec<_> = [".git".to_owned(), hidden].into_iter().map(|path| Hidden(path.into_bytes())).collect();
        let reach = Reach::Operands(vec![reached(&ground.root, Access::ReadTree(hidden))]);
        bench.hold(&ground.root, Try::new(Program::Grep, &["-rh", "alpha", "d"], reach))
    };
    let ran = finish(run(tower(130)).await.unwrap().release().await.unwrap()).await;
    assert_eq!(ran.stdout.head, "alpha\n", "{ran:?}");
    let error = run(tower(1_000)).await.err().unwrap().to_string();
    assert!(error.ends_with("git data lies more than 192 directories deep"), "{error}");
}

#[tokio::test]
async fn a_directory_may_be_listed_and_not_read() {
    let Some(bench) = Bench::walled("a_directory_may_be_listed").await else { return };
    let ground = Ground::new();
    for access in [Access::List, Access::ListTree(vec![Hidden(b".git".to_vec())])] {
        let reach = || Reach::Operands(vec![reached(&ground.root, access.clone())]);
        let ran = bench.run(&ground.root, Try::new(Program::Ls, &["-R", "--", "."], reach())).await;
        assert!(ran.stdout.head.contains("two.rs") && ran.exit_code == Some(0), "{ran:?}");
        let said = bench.probe(&ground.root, &format!("read|{}", ground.at("a.md").display()), reach()).await;
        assert!(said[0].ends_with("no EACCES"), "{said:?}");
    }
    // A directory given where a file was meant, and things that only `ls` may name.
    let ran = bench.run(&ground.root, Try::new(Program::Cat, &["--", "src"], files(&[&ground.at("src")]))).await;
    assert_eq!(ran.stderr.head, "cat: src: Is a directory\n");
    nix::unistd::mkfifo(&ground.at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let pipe = Reach::Operands(vec![reached(&ground.at("pipe"), Access::List)]);
    assert_eq!(bench.run(&ground.root, Try::new(Program::Ls, &["--", "pipe"], pipe)).await.stdout.head, "pipe\n");
}

#[tokio::test]
async fn names_of_people_are_printed_by_ls_and_read_by_nobody_else() {
    let Some(bench) = Bench::walled("names_of_people").await else { return };
    let ground = Ground::new();
    let reach = || Reach::Operands(vec![reached(&ground.at("a.md"), Access::List)]);
    let words = ["-l", "--", "a.md"];
    let ran = bench.run(&ground.root, Try::new(Program::Ls, &words, reach())).await;
    assert_eq!(ran.stdout, bench.open().run(&ground.root, Try::new(Program::Ls, &words, reach())).await.stdout);
    let ran = bench.run(&ground.root, Try::new(Program::Cat, &["/etc/passwd"], nothing())).await;
    assert_eq!((ran.stdout.bytes, ran.exit_code), (0, Some(1)));
}

#[tokio::test]
async fn the_programs_print_the_same_with_the_wall_and_without() {
    let Some(bench) = Bench::walled("the_programs_print_the_same").await else { return };
    let ground = Ground::new();
    let both = || files(&[&ground.at("a.md"), &ground.at("src/one.rs")]);
    for (program, words) in [
        (Program::Cat, ["-n", "--", "a.md", "src/one.rs"].as_slice()),
        (Program::Grep, &["-n", "-P", "--", "al(?=pha)", "a.md", "src/one.rs"]),
        (Program::Head, &["-n1", "--", "a.md", "src/one.rs"]),
        (Program::Tail, &["-c", "3", "--", "a.md", "src/one.rs"]),
        (Program::Wc, &["--", "a.md", "src/one.rs"]),
        (Program::Cat, &["--", "a.md", "nothing.txt"]),
        (Program::Ls, &["-l", "--color=always", "--", "a.md"]),
    ] {
        let walled = bench.run(&ground.root, Try::new(program, words, both())).await;
        let open = bench.open().run(&ground.root, Try::new(program, words, both())).await;
        let told = |ran: owl_domain::ports::Ran| (ran.exit_code, ran.stdout, ran.stderr);
        assert_eq!(told(walled), told(open), "{} {words:?}", program.name());
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_guard_that_cannot_be_applied_means_that_nothing_runs() {
    let mut bench = Bench::new().await;
    let ground = Ground::new();
    bench.guards = Arc::new(Guards { filters: Some(Arc::new(Filters::broken())), ..Guards::none() });
    // It never comes so far as to be held.
    let error = bench.hold(&ground.root, Try::probe("write|ran", nothing())).await.err().unwrap().to_string();
    assert!(error.contains("the seccomp filter could not be applied"), "{error}");
    assert!(!ground.at("ran").exists());
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_guard_that_the_kernel_does_not_take_is_given_up_and_the_other_is_kept() {
    let bench = Bench::new().await;
    let broken = || Guards { filters: Some(Arc::new(Filters::broken())), ..Guards::none() };
    let (guards, measured) = measure::measure_with(&bench.spawner, broken()).await;
    assert!(guards.filters.is_none());
    assert_eq!(measured, Measured { landlock: false, seccomp: false, abi: None });
    if bench.measured.landlock {
        let both = Guards { strength: Some(Strength::Whole), ..broken() };
        let (guards, measured) = measure::measure_with(&bench.spawner, both).await;
        assert_eq!((guards.strength, guards.filters.is_none()), (Some(Strength::Whole), true));
        assert_eq!(measured, Measured { seccomp: false, ..bench.measured });
    }
    if bench.measured.seccomp {
        let filters = Guards { filters: Some(Arc::new(Filters::compile().unwrap())), ..Guards::none() };
        let (_, measured) = measure::measure_with(&bench.spawner, filters).await;
        assert_eq!(measured, Measured { landlock: false, seccomp: true, abi: None });
    }
}

#[test]
fn only_a_kernel_that_refuses_lacks_a_guard_and_not_a_process_that_is_short_of_something() {
    use nix::errno::Errno;
    for (errno, is_lacking) in [
        (Errno::ENOSYS, true),
        (Errno::EOPNOTSUPP, true),
        (Errno::EPERM, true),
        (Errno::EMFILE, false),
        (Errno::ENFILE, false),
        (Errno::ENOMEM, false),
        (Errno::EAGAIN, false),
    ] {
        let error = io::Error::other(io::Error::from(errno));
        assert_eq!(measure::is_lacking(&error), is_lacking, "{errno}");
    }
}

mod git;

#[tokio::test]
async fn a_rule_is_made_only_for_the_directory_that_was_registered() {
    let Some(bench) = Bench::walled("a_rule_is_made_only_for").await else { return };
    let ground = Ground::new();
    let path = |name: &str| AbsPath::new(ground.at(name).to_str().unwrap()).unwrap();
    let home = GitHome {
        git_dir: path(".git"),
        work_tree: path("."),
        real_common_dir: path(".git"),
        owned_common_dir: path("src"),
        index: path("src/index"),
        lenders: Vec::new(),
        readable: Vec::new(),
        settings: Vec::new(),
    };
    let pin = |name: &str| {
        let is = fs::metadata(ground.at(name)).unwrap();
        Pin { path: path(name), device: is.dev(), inode: is.ino() }
    };
    let confine = |git_dir: Pin, home: &GitHome| {
        let pins = Some(Pins { work_tree: pin("."), git_dir, common_dir: pin(".git") });
        let rules = Rules { program: Program::Git, root: handle(&ground.root), pins, reach: Reach::Git(home.clone()) };
        bench.guards.confine(&Executable::read(Path::new("/usr/bin/git")).unwrap(), &rules).map(drop)
    };
    confine(pin(".git"), &home).unwrap();
    let error = confine(pin("src"), &home).unwrap_err().to_string();
    assert!(error.ends_with(".git` is not the directory that was registered"), "{error}");
    symlink(".git", ground.at("link")).unwrap();
    let error = confine(pin(".git"), &GitHome { git_dir: path("link"), ..home }).unwrap_err().to_string();
    assert!(error.ends_with("link` cannot be opened: Not a directory"), "{error}");
}

#[test]
fn what_is_missing_is_named_and_decides_the_confinement() {
    let judged = |sandbox, landlock, seccomp, abi| {
        let Wall { confinement, missing, .. } = judge(sandbox, Measured { landlock, seccomp, abi });
        (confinement, missing.join(" "))
    };
    let auto = |landlock, seccomp, abi| judged(Sandbox::Auto, landlock, seccomp, abi);
    assert_eq!(auto(true, true, Some(7)), (Confinement::Both, String::new()));
    assert_eq!(auto(true, true, Some(4)), (Confinement::Both, "ioctl signals".into()));
    assert_eq!(auto(true, false, Some(5)), (Confinement::Landlock, "seccomp signals".into()));
    assert_eq!(auto(false, true, Some(3)), (Confinement::Seccomp, "landlock tcp ioctl signals".into()));
    assert_eq!(auto(false, true, Some(2)), (Confinement::Seccomp, "landlock truncate tcp ioctl signals".into()));
    assert_eq!(auto(false, false, None), (Confinement::Gate, "landlock seccomp".into()));
    assert_eq!(judged(Sandbox::Off, true, true, Some(7)), (Confinement::Gate, String::new()));
}

#[test]
fn an_answer_survives_the_pipe() {
    for bits in 0..16 {
        let bit = |n: i32| bits & (1 << n) != 0;
        for abi in [None, Some(1), Some(7)] {
            let answer = Answer { read_before: bit(0), read_after: bit(1), socket: bit(2), fork: bit(3), abi };
            assert_eq!(Answer::decode(answer.encode()), answer);
        }
    }
}

#[tokio::test]
async fn a_command_runs_under_its_limits_with_the_wall_and_without() {
    let bench = Bench::new().await;
    let ground = Ground::new();
    // Sizes of files and cores, processor time and open files; memory in KiB, where this system limits it.
    let memory = if cfg!(target_os = "linux") { "; ulimit -v; ulimit -d" } else { "" };
    for (program, expected) in [
        (Program::Cat, ["0", "0", "20", "256", "1048576", "1048576"]),
        (Program::Git, ["0", "0", "20", "256", "8388608", "1048576"]),
    ] {
        for bench in [&bench, &bench.open()] {
            let script = format!("ulimit -f; ulimit -c; ulimit -t; ulimit -n{memory}");
            let shell = Try {
                program: "/bin/sh".into(),
                argv: ["sh", "-c", &script].map(Into::into).to_vec(),
                ..Try::new(program, &[], nothing())
            };
            let ran = bench.run(&ground.root, shell).await;
            let said: Vec<&str> = ran.stdout.head.lines().collect();
            assert_eq!(said, expected[..said.len()], "{ran:?}");
            assert!(said.len() >= 4, "{ran:?}");
        }
    }
}

#[test]
fn no_limit_is_above_what_owl_itself_may() {
    for program in Program::ALL {
        for limit in limits(program) {
            let (_, most) = getrlimit(limit.resource).unwrap();
            assert!(limit.soft <= limit.hard && limit.hard <= most, "{limit:?}");
        }
    }
}
