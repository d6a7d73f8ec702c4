//! What a refusal says, read by people and models: a golden file, and rules that hold for every refusal there is.

use super::{
    lists,
    tree::{verdict, workdir},
};
use crate::gate::{Denial, check_in};
use expect_test::expect_file;
use std::fmt::Write as _;

/// One line of each sort, in the order in which kinds are looked for.
const LINES: &[&str] = &[
    "",
    "cat a\0b",
    "cat docs/it's.md",
    "git log --grep=\"fix",
    "cat README.md \\",
    "git log | head -20",
    "git log --oneline -- src | head -n 5",
    "git log --reverse --oneline | head -1",
    "git log -5 | head",
    "git log -p | head -50",
    "git show HEAD | head",
    "git log --oneline | grep -v Merge",
    "git log --oneline | grep -i 'fix bug'",
    "git log -p | grep foo",
    "git log --stat | grep lib.rs",
    "cat src/*.rs | grep fn",
    "cat README.md | grep TODO",
    "cat README.md | wc -l",
    "git log | grep fix",
    "cd src && grep -rn fn .",
    "cd src && git status",
    "cd src && cat lib.rs",
    "cd src && git log -- lib.rs",
    "cd src && git log lib.rs",
    "cd src && git log -L1,5:lib.rs",
    "cd src && git branch",
    "cd /home/u/shop && git status",
    "cd /tmp && ls",
    "cd .. && ls",
    "cd .git && cat config",
    "cd src; ls",
    "git diff && git log",
    "git log; git diff",
    "git log\ngit diff",
    "git status &",
    "grep -rn x src 2>/dev/null",
    "git log > log.txt",
    "wc -l < README.md",
    "cat <<EOF",
    "cat $HOME/.bashrc",
    "cat ${HOME}/x",
    "cat `id`",
    "cat \"$(id)\"",
    "grep -E (a|b) README.md",
    "grep -rn a|b src",
    "grep -rn a;b src",
    "git log --format=%an<%ae>",
    "git log -- :(exclude)docs",
    "cat ~/.netrc",
    "git log # recent",
    "cat README.md\r",
    "cat weird (1).txt",
    "find . -name x",
    "find . -name '*.rs'",
    "sed -n 1,20p README.md",
    "sed -n 5p src/lib.rs",
    "awk '{print $1}' src/lib.rs",
    "rg TODO",
    "less README.md",
    "rm -rf .",
    "./git status",
    "Cat README.md",
    "sudo cat README.md",
    "GIT_PAGER=x git log",
    "\"git log\" -3",
    "egrep 'a|b' README.md",
    "g\u{456}t status",
    "ca\u{200b}t README.md",
    "git",
    "git checkout dev",
    "git -C src status",
    "git -c core.pager=./x log",
    "git -C src log -- lib.rs",
    "git -C src log lib.rs",
    "git -C src show HEAD:./lib.rs",
    "git -C /home/u/shop status",
    "git -C src branch -a",
    "git blame README.md",
    "git blame -L 10,20 -- src/lib.rs",
    "git blame HEAD~2 src/lib.rs",
    "git tag -l",
    "git cat-file -p main:README.md",
    "git grep TODO",
    "git stash show -p stash@{1}",
    "git push",
    "git ls-files",
    "git STATUS",
    "git stash list",
    "git log -g --all",
    "git diff --stat . HEAD~3",
    "git diff src HEAD~1",
    "git log README.md main",
    "git log README.md gone.md",
    "git log README.md -n 5 main",
    "grep -rn 'don't' docs",
    r"grep -rn 'it\'s' docs",
    "git log --grep='don't'",
    "find . -name '*.rs' | head -20",
    "git ls-files | head -50",
    "git stash list 2>/dev/null",
    r#"cat README.md | grep -E "TODO|x""#,
    "cat README.md 2>/dev/null | grep 'a|b'",
    "grep -dread TODO .",
    "grep -rn -dread TODO .",
    "grep -rnDskip TODO .",
    "ls -lw80",
    "ls -la --ignore target src",
    "rg -F 'a(b' src",
    "nl -ba src/lib.rs",
    "stat src/lib.rs",
    "git rev-parse --abbrev-ref HEAD",
    "git rev-parse main",
    "git reflog show main",
    "git grep -n TODO HEAD~5",
    "git grep -E 'a|b' main -- src",
    "timeout 5 git status",
    "grep -e -- README.md",
    "git show $COMMIT",
    "cat \"../a\nb\tc\"",
    "git \"lo\ng\"",
    "git log --output=x",
    "grep -R TODO .",
    "grep -Rn TODO .",
    "wc --lin README.md",
    "tail -f CHANGELOG.md",
    "tail -5f CHANGELOG.md",
    "tail -fn5 CHANGELOG.md",
    "ls -aR",
    "ls -lL src",
    "git log -pw",
    "git status -v",
    "git branch -D topic",
    "git log --show-signature",
    "git diff --no-index a b",
    "git log --foo",
    "git log --merge",
    "git log --no-pager",
    "git show -q HEAD",
    "git diff -U 5",
    "git diff --stat-width=200",
    "ls --si",
    "ls --hide=x",
    "grep -rn --binary-files=without-match x .",
    "git status --ignore-submodules=all",
    "git diff --ext-diff",
    "ls --ignore=x",
    "grep '->' src/lib.rs",
    "git branch --column",
    "head -n x README.md",
    "head README.md -n",
    "git log --format %h",
    "git log --oneline=yes",
    "ls --sort=foo",
    "git log --format='%h %G?'",
    "git log --format=%G?",
    "git branch --format='%(describe)'",
    "git branch --sort=signature",
    "git log --format=%q",
    "git log --format='%h %>|(30)%s'",
    "git branch --merged -a",
    "git diff --submodule=log",
    "grep -rn --include=*.{rs,toml} fn .",
    "grep -rn x --include=.git .",
    "git log -S ''",
    "git branch topic",
    "git branch --list 'feature/*'",
    "tail +5 CHANGELOG.md",
    "git log ./src -- docs",
    "grep TODO",
    "grep",
    "cat",
    "cat -",
    "cat ''",
    "git log {main,dev}",
    "git log .hidden",
    "git log -- ':(attr:x)y'",
    "cat /home/u/shop/README.md",
    "cat /etc/passwd",
    "git show HEAD:/etc/passwd",
    "cat ../other/x",
    "cat link-out",
    "git log ..",
    "cat .git/config",
    "cat settings.ini",
    "cat dangling",
    "cat pipe",
    "ls *.rs",
    "cat src/*.rs",
    "grep -n TODO src/*.rs",
    "wc -l src/*.rs",
    "cat */lib.rs",
    "cat src/{main,lib}.rs",
    "cat '$HOME/x'",
    "cat 'x\u{202e}y*'",
    "git diff HEAD~1|head",
    "git log main|head -5",
    "git show stash@{0}>x",
    "git log --grep=fix|head -5",
    "git log --grep=fix|bug",
    "git log --since=yesterday>x",
    "git log main;git status",
    "grep -rnF a|b src",
    "grep -i todo",
    "grep -e TODO -e FIXME",
    "grep -nR TODO src",
    "grep -n5 x README.md",
    "ls --si -1",
    "git log 'no such file.txt' --oneline",
    "git log 'no such file.txt' main",
    "git log --pretty '%h %s' -5",
    "git log --max-parents=0",
    "git log --format='%Cyellow%h%Creset %s'",
    "tail -5c README.md",
    "head -n5c README.md",
    "git cat-file blob HEAD:README.md",
    "git checkout -- README.md",
    "git checkout -b new",
    "git stash show 0",
    "git grep TODO HEAD -- src",
    "rg 'a|b' src",
    "sed -n '20,$p' README.md",
    "git diff --submodule",
    "git branch --list main",
    "ls --block-size=x",
];

fn denial(line: &str) -> Denial {
    verdict(line).expect_err(line)
}

#[test]
fn refusals_read_as_they_were_reviewed() {
    let mut text = String::new();
    for line in LINES {
        let Denial { kind, argument, message, hint } = denial(line);
        let argument = argument.map_or("none".into(), |argument| format!("{argument:?}"));
        writeln!(text, "{line:?}\n  {} {argument}\n  {message}", kind.name()).unwrap();
        if let Some(hint) = hint {
            writeln!(text, "  Instead: {hint}").unwrap();
        }
        text.push('\n');
    }
    assert!(LINES.len() >= 60);
    expect_file!["../../../../tests/gate/refusals.txt"].assert_eq(&text);
}

fn all_refused() -> Vec<&'static str> {
    lists::denied().into_iter().map(|(_, line)| line).chain(LINES.iter().copied()).collect()
}

#[test]
fn every_whole_line_in_a_hint_passes_the_gate() {
    for refused in all_refused() {
        let Some(hint) = denial(refused).hint else { continue };
        for line in hint.split('`').skip(1).step_by(2).filter(|line| line.contains(' ') || *line == "ls") {
            if ["cat", "git", "grep", "head", "ls", "tail", "wc"].iter().any(|program| line.starts_with(program)) {
                assert!(check_in(line, workdir().path()).is_ok(), "{refused}: {line}");
            }
        }
    }
}

#[test]
fn a_refusal_prints_as_itself_and_ends_without_a_period() {
    for refused in all_refused() {
        let Denial { message, hint, .. } = denial(refused);
        for text in core::iter::once(message).chain(hint) {
            assert!(
                !text.is_empty() && !text.ends_with('.') && text.chars().all(|c| !c.is_control() || c == '\n'),
                "{refused}: {text}"
            );
            assert!(crate::show::is_visible(&text.replace('\n', "")), "{refused}: {text}");
        }
    }
}

#[test]
fn a_refusal_that_is_about_a_word_names_it() {
    for (kind, line) in lists::denied() {
        let Denial { argument, .. } = denial(line);
        // The word itself, its quotes removed, or the sign in it.
        let unquoted = line.replace(['\'', '"', '\\'], "");
        let is_named =
            argument.as_ref().is_none_or(|argument| unquoted.contains(&argument.replace(['\'', '"', '\\'], "")));
        assert!(is_named, "{kind:?} {line}: {argument:?}");
    }
}

#[test]
fn the_first_kind_in_the_order_is_told_and_within_it_the_leftmost_word() {
    let check = |line: &str, kind: &str, argument: &str| {
        let denial = denial(line);
        assert_eq!((denial.kind.name(), denial.argument.as_deref()), (kind, Some(argument)), "{line}");
    };
    check("cat /etc/passwd --foo", "option", "--foo");
    check("cat --foo --bar", "option", "--foo");
    check("head -n x --foo ../y", "option", "--foo");
    check("head -n x ''", "option_value", "x");
    check("head ../x '' /y", "operand", "");
    check("cat ../x /y .git", "path_absolute", "/y");
    check("cat .git ../x", "path_outside", "../x");
    check("cat pipe link-out settings.ini", "path_outside", "link-out");
    check("cat pipe dangling settings.ini", "path_git", "settings.ini");
    check("cat '*.x' pipe dangling", "path_link", "dangling");
    check("cat '*.x' pipe", "path_special", "pipe");
    check("cat link-out link-abs-out", "path_outside", "link-out");
    check("cat .git; ls", "shell_syntax", ";");
    check("rm --foo | x", "shell_syntax", "|");
    check("git foo --bar", "verb", "foo");
}
