//! B11: what a verdict costs when the facts about paths are at hand. Runs with `cargo bench -p owl-domain --bench gate`;
//! the budget is a median of 5 µs a line over all lines of the gate's tests.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench stops at what cannot be, and prints what it measured"
)]

use divan::{Bencher, black_box, counter::ItemsCount};
use owl_domain::{
    gate::{Confinement, Facts, Sandbox, check_in, propose},
    ports::{Below, Depth, FileKind, Found, GitHome, Handle, Located, Look, Place, Wall},
    project::{Pin, Pins, Workdir},
    text::{AbsPath, ProjectName},
};
use std::time::{Duration, Instant};

const ALLOWED: &str = include_str!("../../tests/gate/allowed.txt");
const DENIED: &str = include_str!("../../tests/gate/denied.txt");

fn main() {
    say_median();
    divan::main();
}

/// Prints the number that the budget is about: each line is judged often, and the line in the middle counts.
fn say_median() {
    const TIMES: u32 = 400;
    let mut all = lines(ALLOWED, 0);
    all.extend(lines(DENIED, 16));
    let mut costs: Vec<Duration> = all
        .iter()
        .map(|(line, facts)| {
            let start = Instant::now();
            (0..TIMES).for_each(|_| judge(black_box(line), facts));
            start.elapsed() / TIMES
        })
        .collect();
    costs.sort_unstable();
    let at = |part: usize| costs.get(costs.len() * part / 100).copied().unwrap_or_default();
    println!("B11 gate verdict, pure: median {:?}, 90th percentile {:?}, budget 5 µs", at(50), at(90));
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
            lenders: Vec::new(),
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

/// One verdict.
#[divan::bench(args = [
    "cat src/../README.md",
    "grep -rn TODO src",
    "git status -sb",
    "git log --oneline -n 3 -- src/main.rs",
    "git log -p -20 --since='2 weeks ago' --author=Jane --format='%C(auto)%h %an %s' main..feature/x -- src docs",
    "git branch -avv --sort=-committerdate",
    "git log | head -20",
    "git push",
])]
fn verdict(bencher: Bencher<'_, '_>, line: &str) {
    let facts = facts(line);
    bencher.bench_local(|| judge(black_box(line), &facts));
}

/// All lines that are allowed; the rate is verdicts a second.
#[divan::bench]
fn every_allowed_line(bencher: Bencher<'_, '_>) {
    all(bencher, &lines(ALLOWED, 0));
}

/// All lines that are denied, with what they are told to write instead.
#[divan::bench]
fn every_denied_line(bencher: Bencher<'_, '_>) {
    all(bencher, &lines(DENIED, 16));
}

fn all(bencher: Bencher<'_, '_>, lines: &[(&str, Facts)]) {
    let all = || lines.iter().for_each(|(line, facts)| judge(black_box(line), facts));
    bencher.counter(ItemsCount::new(lines.len())).bench_local(all);
}
