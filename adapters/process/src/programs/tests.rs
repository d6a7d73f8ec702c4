use super::*;
use std::{
    fs::{self, Permissions},
    os::unix::fs::symlink,
};

/// A directory of programs, an `elsewhere` beside it, and a real ELF file to put in both.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["trusted", "more", "elsewhere"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn install(&self, name: &str) {
        fs::copy("/usr/bin/cat", self.path(name)).unwrap();
    }

    fn find(&self, projects: &[AbsPath]) -> Vec<(Program, String)> {
        let directories = ["trusted", "more"].map(|name| self.path(name).to_str().unwrap().to_owned());
        let trusted = directories.each_ref().map(|directory| Trusted { directory, below: directory });
        let found = Programs::find_in(&trusted, projects);
        let root = self.path("");
        let short = |path: &AbsPath| Path::new(path.as_str()).strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        found.0.iter().map(|(program, path)| (*program, short(path))).collect()
    }
}

#[test]
fn this_machine_s_programs_are_found_in_trusted_directories() {
    let found = Programs::find(&[]);
    for program in [Program::Cat, Program::Git, Program::Grep] {
        let path = found.path(program).unwrap_or_else(|| panic!("no {}", program.name()));
        assert!(TRUSTED.iter().any(|place| path.as_str().starts_with(place.below)), "{path}");
        assert_eq!(Path::new(path.as_str()).canonicalize().unwrap(), Path::new(path.as_str()));
    }
}

#[test]
fn the_first_directory_that_has_a_program_wins_and_elsewhere_is_not_looked() {
    let place = Place::new();
    for name in ["trusted/cat", "more/cat", "more/wc", "elsewhere/ls", "trusted/rm"] {
        place.install(name);
    }
    assert_eq!(place.find(&[]), [(Program::Cat, "trusted/cat".into()), (Program::Wc, "more/wc".into())]);
}

#[test]
fn a_link_within_is_resolved_and_a_link_out_is_not_used() {
    let place = Place::new();
    place.install("trusted/coreutils");
    place.install("elsewhere/git");
    place.install("more/git");
    symlink("coreutils", place.path("trusted/cat")).unwrap();
    symlink("../elsewhere/git", place.path("trusted/git")).unwrap();
    symlink("nowhere", place.path("trusted/ls")).unwrap();
    let expected = [(Program::Cat, "trusted/coreutils".into()), (Program::Git, "more/git".into())];
    assert_eq!(place.find(&[]), expected);
}

#[test]
fn a_program_in_or_under_a_project_is_never_used() {
    let place = Place::new();
    place.install("trusted/cat");
    place.install("more/cat");
    let project = AbsPath::new(place.path("trusted").to_str().unwrap()).unwrap();
    assert_eq!(place.find(&[project]), [(Program::Cat, "more/cat".into())]);
    let above = AbsPath::new(place.path("").to_str().unwrap().trim_end_matches('/')).unwrap();
    assert_eq!(place.find(&[above]), []);
}

#[test]
fn a_script_a_directory_and_a_file_that_nobody_may_execute_are_no_programs() {
    let place = Place::new();
    fs::write(place.path("trusted/git"), "#!/bin/sh\nexec /usr/bin/git \"$@\"\n").unwrap();
    fs::set_permissions(place.path("trusted/git"), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(place.path("trusted/cat")).unwrap();
    place.install("trusted/wc");
    fs::set_permissions(place.path("trusted/wc"), Permissions::from_mode(0o644)).unwrap();
    assert_eq!(place.find(&[]), []);
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_of_another_machine_is_refused_and_one_of_this_names_its_loader() {
    let place = Place::new();
    let cat = place.path("trusted/cat");
    place.install("trusted/cat");
    let loader = Executable::read(&cat).unwrap().loader().unwrap().to_owned();
    assert!(loader.exists(), "{}", loader.display());
    let mut bytes = fs::read(&cat).unwrap();
    bytes[18] ^= 0xff;
    fs::write(&cat, &bytes).unwrap();
    assert_eq!(Executable::read(&cat).unwrap_err().to_string(), "it is not a program for this machine");
    fs::write(&cat, &bytes[..20]).unwrap();
    assert_eq!(Executable::read(&cat).unwrap_err().to_string(), "it is not an ELF file");
}
