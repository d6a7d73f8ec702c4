//! Any line through the gate: it never panics, and what it accepts is accepted again in the same spelling. The first
//! byte says where the paths lead.
#![no_main]

use libfuzzer_sys::fuzz_target;
use owl_domain::{
    gate::{Checked, Confinement, Facts, Program, Sandbox, Shown, check_in, clear, propose},
    ports::{Below, Depth, FileKind, Found, GitHome, Handle, Located, Look, Place, Wall},
    project::{Pin, Pins, Workdir},
    text::{AbsPath, ProjectName},
};

fuzz_target!(|input: (u8, &str)| {
    let (places, line) = input;
    let Some(shown) = verdict(line, places) else { return };
    assert!(shown.argv.iter().all(|word| !word.contains('\0')));
    assert!(shown.added.iter().all(|at| *at < shown.argv.len()));

    // A line near the limits grows beyond them by Owl's words.
    let rebuilt = quoted(&shown.argv);
    if rebuilt.len() < 8_000 && shown.argv.len() < 60 {
        let again = verdict(&rebuilt, places).expect("what was rebuilt is accepted");
        assert_eq!(
            (again.argv, again.added, again.digest),
            (shown.argv.clone(), shown.added.clone(), shown.digest.clone())
        );
    }
    let checked = check_in(line, workdir().path()).expect("it was accepted");
    let cleared = clear(&shown, facts(&checked, places)).expect("nothing changed");
    assert_eq!(cleared.shown(), &shown);
});

fn verdict(line: &str, places: u8) -> Option<Shown> {
    let checked = check_in(line, workdir().path()).ok()?;
    let facts = facts(&checked, places);
    propose(checked, &facts).ok()
}

fn quoted(argv: &[String]) -> String {
    let words: Vec<String> = argv.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    words.join(" ")
}

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).expect("an absolute path")
}

fn workdir() -> Workdir {
    let pin = |at: &str| Pin { path: path(at), device: 1, inode: 1 };
    let pins = Pins { work_tree: pin("/p"), git_dir: pin("/p/.git"), common_dir: pin("/p/.git") };
    Workdir { project: ProjectName::new("p").expect("a name"), pins }
}

/// The same word leads to the same place, whichever line it stands in.
fn place(look: &Look, places: u8) -> Place {
    let below = if look.depth == Depth::Tree { Below::Hidden(Vec::new()) } else { Below::NotAsked };
    let inside =
        |kind| Place::Inside(Found { kind, path: path("/p/x"), handle: Handle::new(()), below: below.clone() });
    match look.word.bytes().fold(places, u8::wrapping_add) % 4 {
        0 => inside(FileKind::Directory),
        1 => inside(FileKind::File),
        _ => Place::Absent,
    }
}

fn facts(checked: &Checked, places: u8) -> Facts {
    let wall =
        Wall { sandbox: Sandbox::Auto, confinement: Confinement::Both, landlock_abi: Some(7), missing: Vec::new() };
    let git = GitHome {
        git_dir: path("/p/.git"),
        work_tree: path("/p"),
        real_common_dir: path("/p/.git"),
        owned_common_dir: path("/s"),
        index: path("/s/indexes/index"),
        lenders: Vec::new(),
        readable: Vec::new(),
        settings: Vec::new(),
    };
    Facts {
        workdir: workdir(),
        program: Some(path(&format!("/usr/bin/{}", checked.program().name()))),
        wall,
        located: Located {
            root: Handle::new(()),
            places: checked.looks().iter().map(|look| place(look, places)).collect(),
        },
        git: (checked.program() == Program::Git).then_some(git),
    }
}
