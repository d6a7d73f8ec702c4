//! B11: what a verdict costs when the facts about paths are at hand. Runs with `cargo bench -p owl-domain --bench gate`;
//! the budget is a median of 5 µs a line over all lines of the gate's tests.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench stops at what cannot be, and prints what it measured"
)]

use owl_domain::{
    gate::{Confinement, Facts, Sandbox, check_in, propose},
    ports::{Below, Depth, FileKind, Found, GitHome, Handle, Located, Look, Place, Wall},
    project::{Pin, Pins, Workdir},
    text::{AbsPath, ProjectName},
};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

const ALLOWED: &str = include_str!("../../tests/gate/allowed.txt");
const DENIED: &str = include_str!("../../tests/gate/denied.txt");

/// Lines that people write, each told by itself.
const TOLD: [&str; 8] = [
    "cat src/../README.md",
    "grep -rn TODO src",
    "git status -sb",
    "git log --oneline -n 3 -- src/main.rs",
    "git log -p -20 --since='2 weeks ago' --author=Jane --format='%C(auto)%h %an %s' main..feature/x -- src docs",
    "git branch -avv --sort=-committerdate",
    "git log | head -20",
    "git push",
];

/// Prints what the budget is about: each line is judged often, and the line in the middle counts.
fn main() {
    let mut all = lines(ALLOWED, 0);
    all.extend(lines(DENIED, 16));
    let mut costs: Vec<Duration> = all.iter().map(|(line, facts)| cost(line, facts)).collect();
    costs.sort_unstable();
    let at = |part: usize| costs.get(costs.len() * part / 100).copied().unwrap_or_default();
    println!("B11 gate verdict, pure: median {:?}, 90th percentile {:?}, budget 5 us", at(50), at(90));
    for line in TOLD {
        println!("    {:>10.2?}  {line}", cost(line, &facts(line)));
    }
}

/// Judges a line often, and returns what once costs.
fn cost(line: &str, facts: &Facts) -> Duration {
    const TIMES: u32 = 400;
    let start = Instant::now();
    (0..TIMES).for_each(|_| judge(black_box(line), facts));
    start.elapsed() / TIMES
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("an absolute path")
}

fn workdir() -> Workdir {
    let pin = |at: &str| Pin { path: path(at), device: 1, inode: 1 };
    let git = pin("/home/u/shop/.git");
    let pins = Pins { work_tree: pin("/home/u/shop"), git_dir: git.clone(), common_dir: git };
    Workdir { project: ProjectName::new("shop").expect("a name"), pins }
}

/// Everything that is asked for is a file inside.
fn place(look: &Look) -> Place {
    let below = if look.depth == Depth::Tree { Below::Hidden(Vec::new()) } else { Below::NotAsked };
    Place::Inside(Found { kind: FileKind::File, path: path("/home/u/shop/x"), handle: Handle::new(()), below })
}

fn facts(line: &str) -> Facts {
    let checked = check_in(line, workdir().path());
    let looks = checked.as_ref().map(|checked| checked.looks().to_vec()).unwrap_or_default();
    let program = checked.map_or("none", |checked| checked.program().name());
    Facts {
        workdir: workdir(),
        program: Some(path(&format!("/usr/bin/{program}"))),
        wall: Wall {
            sandbox: Sandbox::Auto,
            confinement: Confinement::Both,
            landlock_abi: Some(7),
            missing: Vec::new(),
        },
        located: Located { root: Handle::new(()), places: looks.iter().map(place).collect() },
        git: Some(GitHome {
            git_dir: path("/home/u/shop/.git"),
            work_tree: path("/home/u/shop"),
            real_common_dir: path("/home/u/shop/.git"),
            owned_common_dir: path("/home/u/.local/state/coding-owl/git/shop"),
            index: path("/home/u/.local/state/coding-owl/git/shop/indexes/index"),
            lenders: Vec::new(),
            readable: Vec::new(),
            settings: Vec::new(),
        }),
    }
}

fn judge(line: &str, facts: &Facts) {
    match check_in(line, facts.workdir.path()).and_then(|checked| propose(checked, facts)) {
        Ok(shown) => drop(black_box(shown)),
        Err(denial) => drop(black_box(denial)),
    }
}

fn lines(text: &'static str, column: usize) -> Vec<(&'static str, Facts)> {
    let entries = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let bare = entries.filter_map(|entry| entry.rsplit_once("  ## ")?.0.get(column..));
    bare.map(|line| (line, facts(line))).collect()
}
