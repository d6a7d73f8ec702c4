//! B12 and B13: a verdict with what the gate has to know about paths, read from disk, and the walk through a tree before
//! `grep -r` may have it. B11, the verdict alone, is the domain's own bench.

use crate::report::{Budget, Report, percentile};
use owl_domain::{
    gate::{Confinement, Facts, Sandbox, check_in, propose},
    ports::{GitHome, Paths as _, Wall},
    project::{Pin, Pins, Workdir},
    text::{AbsPath, ProjectName},
};
use owl_files::HostPaths;
use owl_testkit::repo::TempRepo;
use std::{
    fs,
    hint::black_box,
    os::unix::fs::MetadataExt as _,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

/// Lines with operands, and the same operands as `canonicalize` takes them.
const LINES: [(&str, &[&str]); 3] = [
    ("git log --oneline -n 3 -- src/main.rs", &["src/main.rs"]),
    ("grep -n TODO src/main.rs README.md", &["src/main.rs", "README.md"]),
    ("cat src/../README.md", &["src/../README.md"]),
];
const TIMES: usize = 3_000;
const DIRECTORIES: usize = 200;
const FILES: usize = 100;

pub(crate) fn rows(report: &mut Report) {
    let runtime = crate::runtime();
    if report.wants("B12") {
        let repo = TempRepo::with_commit();
        repo.commit_file("src/main.rs", "fn main() {}\n");
        repo.commit_file("README.md", "# Shop\n");
        let workdir = workdir(repo.root());
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for turn in 0..TIMES {
            let (line, operands) = LINES[turn % LINES.len()];
            ours.push(runtime.block_on(judged(line, &workdir)));
            let start = Instant::now();
            black_box(fs::canonicalize(repo.root()).unwrap());
            for operand in operands {
                black_box(fs::canonicalize(repo.root().join(operand)).unwrap());
            }
            bare.push(start.elapsed());
        }
        let beside = format!("canonicalize {:.1?}", percentile(bare, 50));
        report.time("B12", "verdict with path facts, p50", percentile(ours, 50), Duration::from_micros(60), &beside);
    }
    if report.wants("B13") {
        let repo = TempRepo::with_commit();
        for directory in 0..DIRECTORIES {
            let directory = repo.root().join(format!("d{directory}"));
            fs::create_dir(&directory).unwrap();
            for file in 0..FILES {
                let text = "some words that nobody looks for, and then some more of them\n".repeat(20);
                fs::write(directory.join(format!("f{file}")), text).unwrap();
            }
        }
        let workdir = workdir(repo.root());
        let walk = || runtime.block_on(judged("grep -rn TODO .", &workdir)).as_secs_f64();
        let what = "verdict over a tree of 20 000 files";
        report.ratio(
            "B13",
            what,
            Budget::AtMost(0.2),
            walk,
            || grep(repo.root()).as_secs_f64(),
            |s| format!("{:.1} ms", s * 1e3),
        );
    }
}

/// Judges a line with its paths looked up, and says how long that took. What does not come from a path is at hand.
async fn judged(line: &str, workdir: &Workdir) -> Duration {
    let program = AbsPath::new("/usr/bin/true").ok();
    let wall =
        Wall { sandbox: Sandbox::Auto, confinement: Confinement::Both, landlock_abi: Some(7), missing: Vec::new() };
    let home = || {
        let at = workdir.path().clone();
        GitHome {
            git_dir: at.clone(),
            work_tree: at.clone(),
            real_common_dir: at.clone(),
            index: at.clone(),
            owned_common_dir: at,
            lenders: Vec::new(),
            readable: Vec::new(),
            settings: Vec::new(),
        }
    };
    let (workdir, git) = (workdir.clone(), Some(home()));
    let start = Instant::now();
    let checked = check_in(line, workdir.path()).unwrap();
    let located = HostPaths::new().locate(&workdir, checked.looks()).await.unwrap();
    black_box(propose(checked, &Facts { workdir, program, wall, located, git }).unwrap());
    start.elapsed()
}

fn workdir(root: &Path) -> Workdir {
    let root = root.canonicalize().unwrap();
    let pin = |path: &Path| {
        let there = fs::metadata(path).unwrap();
        Pin { path: AbsPath::new(path.to_str().unwrap()).unwrap(), device: there.dev(), inode: there.ino() }
    };
    let git = pin(&root.join(".git"));
    let pins = Pins { work_tree: pin(&root), git_dir: git.clone(), common_dir: git };
    Workdir { project: ProjectName::new("shop").unwrap(), pins }
}

#[expect(clippy::disallowed_types, reason = "a baseline starts the program as bare as it can be")]
fn grep(root: &Path) -> Duration {
    let start = Instant::now();
    let mut grep = std::process::Command::new("grep");
    grep.args(["-rn", "TODO", "."]).current_dir(root).stdin(Stdio::null()).stdout(Stdio::null());
    grep.status().unwrap();
    start.elapsed()
}
