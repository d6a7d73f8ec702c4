//! What each door gives: argv, Owl's words, environment, digest, reach; and what the second pass refuses.

use super::tree::{ROOT, Tree, facts, git_home, program, verdict, verdict_in, workdir};
use crate::{
    consent::Scope,
    gate::{
        Access, Cleared, Confinement, Denial, DenialKind, Digest, Facts, Program, Reach, Sandbox, Shown, check, clear,
        digest, disarmed_git_environment, environment, git_environment, propose, render,
    },
    ports::{Below, Depth, GitHome, Hidden, LocateError, Located, Look, Place, RepositoryError},
    text::AbsPath,
};
use expect_test::expect_file;

fn argv(line: &str) -> String {
    crate::show::quote_argv(&verdict(line).unwrap_or_else(|denial| panic!("{line}: {}", denial.message)).argv)
}

/// `L` is what Owl puts into `git log`, `diff` and `show`.
fn log(rest: &str) -> String {
    format!("git --no-pager {rest}")
        .replace(" L", " --no-show-signature --no-ext-diff --no-textconv --submodule=short --ignore-submodules=dirty")
}

#[test]
fn a_line_is_rebuilt_in_one_spelling() {
    for (line, expected) in [
        ("git status -sb", log("status --ignore-submodules=dirty -s -b --")),
        ("git log --oneline -20 -- src", log("log L --oneline -n20 -- src")),
        ("git log -S 'retries: 5' -p", log(r#"log L "-Sretries: 5" -p --"#)),
        ("git log -5 feature/x --not main", log("log L -n5 feature/x --not main --")),
        ("git log src --all", log("log L --all -- src")),
        ("git log main src -3", log("log L -n3 main -- src")),
        // Whatever is called so: with `--` git reads a revision.
        ("git log src -- docs", log("log L src -- docs")),
        ("git log src --", log("log L src --")),
        ("git log -- src", log("log L -- src")),
        ("git show HEAD~2:src/lib.rs", log(r#"show L "HEAD~2:src/lib.rs" --"#)),
        (
            "git diff main...feature/x --stat",
            log("diff L --stat main...feature/x --"),
        ),
        ("git branch -a --contains v0.9", log("branch --list --no-column -a --contains=v0.9")),
        ("git branch --merged", log("branch --list --no-column --merged=HEAD")),
        ("git branch -avv", log("branch --list --no-column -a -v -v")),
        ("git branch --show-current", log("branch --show-current")),
        ("head -20 CHANGELOG.md", "head -n20 -- CHANGELOG.md".into()),
        ("cat src/../README.md -n", "cat -n -- src/../README.md".into()),
        ("cat -- -n", "cat -- -n".into()),
        ("ls -la", "ls -l -a --".into()),
        (
            "grep -rnE \"foo|bar\" src",
            r#"grep --exclude-dir=.git -r -n -E "--exclude-dir=.[gG][iI][tT]" "--exclude=.[gG][iI][tT]" -- "foo|bar" src"#.into(),
        ),
        (
            "grep -2 -e '' README.md",
            r#"grep --exclude-dir=.git -C2 --regexp= "--exclude-dir=.[gG][iI][tT]" "--exclude=.[gG][iI][tT]" -- README.md"#.into(),
        ),
    ] {
        assert_eq!(argv(line), expected, "{line}");
    }
}

#[test]
fn owls_words_are_marked() {
    assert_eq!(verdict("grep -rn TODO src").unwrap().added, [1, 4, 5]);
    assert_eq!(verdict("git status -s").unwrap().added, [1, 3]);
    assert_eq!(verdict("cat README.md").unwrap().added, Vec::<usize>::new());
    assert_eq!(verdict("git branch --show-current").unwrap().added, [1]);
}

#[test]
fn git_data_below_a_tree_is_left_out_by_name() {
    let shown = verdict("grep -rn x .").unwrap();
    let left_out: Vec<&str> = shown.added.iter().skip(3).map(|at| shown.argv[*at].as_str()).collect();
    assert_eq!(
        left_out,
        [
            "--exclude-dir=.git.",
            "--exclude-dir=gitdata",
            "--exclude-dir=git~1",
            "--exclude-dir=mirror.git",
            "--exclude=.git.",
            "--exclude=git~1"
        ]
    );
    assert_eq!(argv("ls -R casing"), r#"ls -R --ignore=.git. "--ignore=git~1" -- casing"#);
    assert_eq!(argv("ls -R src"), "ls -R -- src");
}

#[test]
fn a_name_that_is_left_out_is_written_as_a_glob_that_matches_only_it() {
    let mut tree = Tree::shop();
    for part in ["HEAD", "objects/x", "refs/x"] {
        tree.add_file(&format!("src/a*[b]?\\/{part}"));
    }
    let shown = verdict_in(&tree, "ls -R src").unwrap();
    assert_eq!(shown.argv, ["ls", "-R", "--ignore=a\\*\\[b\\]\\?\\\\", "--", "src"]);
}

#[test]
fn what_has_to_be_looked_up_is_told() {
    let looks = |line: &str| check(line).unwrap().looks().to_vec();
    let entry = |word: &str| Look { word: word.into(), depth: Depth::Entry };
    let tree = |word: &str| Look { word: word.into(), depth: Depth::Tree };
    assert_eq!(looks("cat README.md src/lib.rs"), [entry("README.md"), entry("src/lib.rs")]);
    assert_eq!(looks("grep README.md src"), [entry("src")]);
    assert_eq!(looks("grep -r x src"), [tree("src")]);
    assert_eq!(looks("grep -r x"), [tree(".")]);
    assert_eq!(looks("ls -R"), [tree(".")]);
    assert_eq!(looks("ls -r"), []);
    assert_eq!(looks("git branch -a"), []);
    assert_eq!(looks("git log main ':/words' -- ':!docs' src"), [entry("docs"), entry("src")]);
    assert_eq!(looks("git log main src"), [entry("main"), entry("src")]);
    assert_eq!(looks("git log -L 1,2:a.b --relative=src"), [entry("a.b"), entry("src")]);
}

#[test]
fn a_digest_is_over_everything_that_is_shown() {
    let shown = verdict("grep -rn TODO src").unwrap();
    let workdir = AbsPath::new("/home/u/my-app").unwrap();
    let given = digest(&shown.path, &workdir, &shown.argv, &shown.added, &shown.env);
    assert_eq!(given.as_str(), "sha256:38c766089048073d31c5cb8eeae73683d18433aaae7f504598ebb240a9c48c41");
}

#[test]
fn a_digest_changes_when_any_field_does() {
    let shown = verdict("grep -rn TODO src").unwrap();
    let of = |s: &Shown| digest(&s.path, &s.workdir, &s.argv, &s.added, &s.env);
    let other = |change: &dyn Fn(&mut Shown)| {
        let mut other = shown.clone();
        change(&mut other);
        of(&other)
    };
    let mut seen = std::collections::BTreeSet::from([shown.digest.clone()]);
    for changed in [
        other(&|s| s.path = AbsPath::new("/bin/grep").unwrap()),
        other(&|s| s.workdir = AbsPath::new("/home/u/other").unwrap()),
        other(&|s| s.argv.push("x".into())),
        other(&|s| s.argv.push(String::new())),
        other(&|s| s.argv.swap(2, 3)),
        other(&|s| s.argv[7] = "TODOsrc".into()),
        other(&|s| s.added.clear()),
        other(&|s| s.added[0] = 2),
        other(&|s| s.env[0].1 = "/root".into()),
        other(&|s| s.env.push(("X".into(), String::new()))),
        other(&|s| s.env.clear()),
    ] {
        assert!(seen.insert(changed));
    }
    assert_eq!(of(&shown), shown.digest);
}

#[test]
fn the_environment_is_fixed_and_sorted() {
    let common = [("HOME", "/nonexistent"), ("LC_ALL", "C.UTF-8"), ("PATH", "/usr/bin:/bin")];
    assert_eq!(environment(), common.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(verdict("cat README.md").unwrap().env, environment());

    let git = git_environment(&git_home());
    let home = GitHome { work_tree: AbsPath::new("/shop").unwrap(), ..git_home() };
    assert!(git_environment(&home).contains(&("GIT_CEILING_DIRECTORIES".into(), "/".into())));
    let disarmed = disarmed_git_environment();
    assert!(disarmed.iter().all(|variable| git.contains(variable)));
    let named: Vec<&str> =
        git.iter().filter(|variable| !disarmed.contains(variable)).map(|(name, _)| name.as_str()).collect();
    assert_eq!(named, ["GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"]);
    assert_eq!(verdict("git status").unwrap().env, git);
    assert!(git.is_sorted());
    let lines: String = git.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    expect_file!["../../../../tests/gate/git-environment.txt"].assert_eq(&lines);
}

#[test]
fn what_a_worktree_sets_for_itself_stands_behind_owls_own_settings() {
    let settings = [("core.sparsecheckout", "true"), ("core.filemode", "false"), ("core.eol", "lf")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let (alone, home) = (git_environment(&git_home()), GitHome { settings: settings.to_vec(), ..git_home() });
    let env = git_environment(&home);
    assert!(env.is_sorted());
    let added: Vec<_> = env.iter().filter(|variable| !alone.contains(variable)).collect();
    let added: Vec<_> = added.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let expected = [
        ("GIT_CONFIG_COUNT", "10"),
        ("GIT_CONFIG_KEY_7", "core.sparsecheckout"),
        ("GIT_CONFIG_KEY_8", "core.filemode"),
        ("GIT_CONFIG_KEY_9", "core.eol"),
        ("GIT_CONFIG_VALUE_7", "true"),
        ("GIT_CONFIG_VALUE_8", "false"),
        ("GIT_CONFIG_VALUE_9", "lf"),
    ];
    assert_eq!(added, expected);
}

#[test]
fn in_a_linked_worktree_nothing_tells_where_the_main_one_is() {
    let said = |line: &str, real_common_dir: &str| {
        let home = GitHome { real_common_dir: AbsPath::new(real_common_dir).unwrap(), ..git_home() };
        let facts = Facts { git: Some(home), ..facts_for(line) };
        proposed(line, &facts).map(|shown| shown.argv.join(" ")).map_err(|denial| (denial.kind, denial.argument))
    };
    let main = git_home().git_dir.to_string();
    for line in ["git branch -vv", "git branch -avv", "git branch -v --verbose"] {
        assert!(said(line, &main).is_ok(), "{line}");
        assert_eq!(said(line, "/elsewhere/.git").unwrap_err(), (DenialKind::Option, Some("-vv".into())), "{line}");
    }
    for line in ["git branch -v", "git branch -a", "git branch -vv --format='%(refname)'", "git log -2"] {
        assert!(said(line, "/elsewhere/.git").is_ok(), "{line}");
    }
}

#[test]
fn the_table_is_printed_as_it_was_reviewed() {
    expect_file!["../../../../schemas/gate-policy.txt"].assert_eq(&render());
    assert!(render().lines().all(|line| line.chars().count() <= 120));
}

#[test]
fn a_grant_covers_a_row() {
    let covers = |line: &str| Scope::of(&verdict(line).unwrap()).what();
    assert_eq!(covers("git log -3"), format!("git log in {ROOT}"));
    assert_eq!(covers("grep x README.md"), format!("grep in {ROOT}"));
}

fn facts_for(line: &str) -> Facts {
    facts(&Tree::shop(), &check(line).unwrap())
}

fn proposed(line: &str, facts: &Facts) -> Result<Shown, Denial> {
    propose(check(line).unwrap(), facts)
}

#[test]
fn what_owl_itself_lacks_is_told_after_what_is_wrong_with_the_line() {
    let lacking = |line: &str| {
        let mut facts = facts_for(line);
        facts.program = None;
        facts.wall.sandbox = Sandbox::Required;
        facts.wall.confinement = Confinement::Landlock;
        facts.git = None;
        facts
    };
    let kind = |line: &str, facts: &Facts| proposed(line, facts).unwrap_err().kind;

    assert_eq!(kind("git log -- link-out", &lacking("git log -- link-out")), DenialKind::PathOutside);
    let mut facts = lacking("git log");
    assert_eq!(kind("git log", &facts), DenialKind::NotInstalled);
    facts.program = Some(program(Program::Git));
    assert_eq!(kind("git log", &facts), DenialKind::Sandbox);
    facts.wall.confinement = Confinement::Both;
    assert_eq!(kind("git log", &facts), DenialKind::Workdir);
    facts.git = Some(git_home());
    assert!(proposed("git log", &facts).is_ok());
}

#[test]
fn a_required_sandbox_needs_both_guards_and_no_other_setting_needs_any() {
    for sandbox in [Sandbox::Auto, Sandbox::Required, Sandbox::Off] {
        for confinement in Confinement::ALL {
            let mut facts = facts_for("ls");
            facts.wall.sandbox = sandbox;
            facts.wall.confinement = confinement;
            let verdict = proposed("ls", &facts);
            let is_denied = sandbox == Sandbox::Required && confinement != Confinement::Both;
            assert_eq!(verdict.is_err(), is_denied, "{sandbox:?} {confinement:?}");
            assert!(verdict.map_or(true, |shown| shown.confinement == confinement));
        }
    }
}

#[test]
fn a_place_that_was_not_looked_up_is_never_taken_for_good() {
    let mut facts = facts_for("cat README.md Cargo.toml");
    facts.located.places.pop();
    assert_eq!(proposed("cat README.md Cargo.toml", &facts).unwrap_err().kind, DenialKind::Workdir);

    facts.located.places.push(Place::Unknown { reason: "input/output error".into() });
    let denial = proposed("cat README.md Cargo.toml", &facts).unwrap_err();
    assert_eq!((denial.kind, denial.argument.as_deref()), (DenialKind::Operand, Some("Cargo.toml")));
}

#[test]
fn a_tree_of_which_not_just_the_git_data_can_be_left_out_is_denied() {
    let hidden = |name: String| Hidden(name.into_bytes());
    let many = |number: usize| Below::Hidden((0..number).map(|n| hidden(format!("mirror-{n}.git"))).collect());
    let long = Below::Hidden((0..40).map(|n| hidden(format!("{n}{}", "x".repeat(250)))).collect());
    let mut facts = facts_for("grep -r x .");
    for (below, is_fine) in [
        (Below::TooMany, false),
        (Below::Shared(hidden("src".into())), false),
        (many(64), true),
        (many(65), false),
        (long, false),
        (Below::Hidden(vec![hidden("{a,b}".into())]), true),
    ] {
        for place in &mut facts.located.places {
            if let Place::Inside(found) = place {
                found.below = below.clone();
            }
        }
        let said = proposed("grep -r x .", &facts).map_err(|denial| (denial.kind, denial.hint));
        match said {
            Ok(_) => assert!(is_fine, "{below:?}"),
            Err(said) => {
                assert_eq!((said, is_fine), ((DenialKind::Operand, Some("name a subdirectory".into())), false));
            }
        }
    }
}

#[test]
fn a_workdir_that_is_not_what_it_was_is_a_denial() {
    let gone = Denial::from_locate(&LocateError::Gone { path: AbsPath::new("/home/u/shop").unwrap() });
    assert_eq!((gone.kind, gone.message.as_str()), (DenialKind::Workdir, "/home/u/shop is gone"));
    let borrows = Denial::from_repository(&RepositoryError::Borrows { lender: "/home/u/\u{202e}x".into() });
    assert_eq!(borrows.kind, DenialKind::Workdir);
    assert_eq!(
        borrows.message,
        "this repository borrows objects from /home/u/\\u{202e}x, which is not a registered Project"
    );
}

fn cleared(line: &str) -> Cleared {
    let shown = verdict(line).unwrap();
    clear(&shown, facts_for(line)).unwrap()
}

#[test]
fn what_passes_twice_is_what_was_shown() {
    for line in super::lists::allowed() {
        let shown = verdict(line).unwrap();
        let cleared = clear(&shown, facts_for(line)).unwrap();
        assert_eq!(cleared.shown(), &shown, "{line}");
        assert_eq!(cleared.workdir(), &workdir());
    }
}

#[test]
fn the_second_pass_denies_for_its_own_reason() {
    let line = "cat src/lib.rs";
    let shown = verdict(line).unwrap();
    let mut tree = Tree::shop();
    tree.swap_for_link("src/lib.rs", "../../other/secret.txt");
    let denial = clear(&shown, facts(&tree, &check(line).unwrap())).unwrap_err();
    assert_eq!((denial.kind, denial.argument.as_deref()), (DenialKind::PathOutside, Some("src/lib.rs")));

    tree.swap_for_link("src/lib.rs", "../.git/config");
    let denial = clear(&shown, facts(&tree, &check(line).unwrap())).unwrap_err();
    assert_eq!(denial.kind, DenialKind::PathGit);
}

#[test]
fn what_would_run_otherwise_than_it_was_shown_is_denied_as_changed() {
    let line = "git log README.md";
    let shown = verdict(line).unwrap();
    let kind_and_message = |shown: &Shown, facts: Facts| {
        let denial = clear(shown, facts).unwrap_err();
        (denial.kind, denial.message)
    };
    let says = |what: &str| (DenialKind::Changed, format!("it would run otherwise than it was shown: {what}"));

    let mut facts = facts_for(line);
    facts.program = Some(AbsPath::new("/usr/local/bin/git").unwrap());
    assert_eq!(kind_and_message(&shown, facts), says("the program is another one"));

    let mut facts = facts_for(line);
    facts.git.as_mut().unwrap().git_dir = AbsPath::new("/elsewhere").unwrap();
    assert_eq!(kind_and_message(&shown, facts), says("its environment would be another"));

    let mut facts = facts_for(line);
    facts.workdir.pins.work_tree.path = AbsPath::new("/home/u/shop2").unwrap();
    assert_eq!(kind_and_message(&shown, facts), says("the directory is another one"));

    // The file is gone: its name is a revision now.
    let mut facts = facts_for(line);
    facts.located.places = vec![Place::Absent];
    let gone = kind_and_message(&verdict("git log Cargo.toml").unwrap(), {
        let mut facts = facts_for("git log Cargo.toml");
        facts.located.places = vec![Place::Absent];
        facts
    });
    assert_eq!(gone, says("its arguments would be others"));

    let mut stored = shown.clone();
    stored.digest = Digest::as_written("sha256:00");
    assert_eq!(kind_and_message(&stored, facts_for(line)), says("its digest is another"));
}

#[test]
fn what_is_stored_is_never_what_runs_unless_the_gate_gives_it_again() {
    let line = "cat README.md";
    let mut stored = verdict(line).unwrap();
    stored.argv = vec!["cat".into(), "--".into(), "/etc/shadow".into()];
    // The digest is still the one of the line: what runs is what the gate gives for it.
    let cleared = clear(&stored, facts_for(line)).unwrap();
    assert_eq!(cleared.shown().argv, ["cat", "--", "README.md"]);

    stored.requested = "cat /etc/shadow".into();
    let nowhere = Facts { located: Located { places: Vec::new(), ..facts_for(line).located }, ..facts_for(line) };
    assert_eq!(clear(&stored, nowhere).unwrap_err().kind, DenialKind::PathAbsolute);
}

fn reach(line: &str) -> Vec<(String, Access)> {
    match cleared(line).reach() {
        Reach::Operands(reached) => {
            let path = |handle: &crate::ports::Handle| handle.get::<String>().unwrap().clone();
            reached.iter().map(|reached| (path(&reached.handle), reached.access.clone())).collect()
        }
        Reach::Git(_) => panic!("{line} is git"),
    }
}

#[test]
fn a_program_may_reach_its_operands_and_nothing_else() {
    let at = |path: &str, access: Access| (format!("{ROOT}{path}"), access);
    assert_eq!(
        reach("cat README.md link-in/lib.rs"),
        [at("/README.md", Access::ReadFile), at("/src/lib.rs", Access::ReadFile)]
    );
    assert_eq!(reach("cat src"), [at("/src", Access::List)]);
    assert_eq!(reach("cat nothing.txt"), []);
    assert_eq!(reach("ls"), [at("", Access::List)]);
    assert_eq!(reach("ls src README.md pipe"), [at("/src", Access::List)]);
    assert_eq!(reach("ls -R src"), [at("/src", Access::ListTree(Vec::new()))]);
    let hidden = ["mirror.git", "scratch/.git"].map(|path| Hidden(path.as_bytes().to_vec()));
    let whole = reach("grep -r x");
    assert_eq!(whole.len(), 1);
    let Access::ReadTree(left_out) = &whole[0].1 else { panic!("{whole:?}") };
    assert!(hidden.iter().all(|path| left_out.contains(path)) && left_out.contains(&Hidden(b".git".to_vec())));
    assert_eq!(reach("grep -r x README.md"), [at("/README.md", Access::ReadFile)]);
    assert_eq!(reach("grep x src"), [at("/src", Access::List)]);
    assert!(matches!(cleared("git log -- README.md").reach(), Reach::Git(home) if *home == git_home()));
}
