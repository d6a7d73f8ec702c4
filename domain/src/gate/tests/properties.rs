//! What holds for every line, known or not.

use super::{
    lists,
    tree::{Tree, verdict, verdict_in},
};
use crate::gate::{DenialKind, check, hint::join, rows, words};
use proptest::prelude::*;

/// A line that looks like one: pieces of known lines, of options, and of what breaks lines.
fn line() -> impl Strategy<Value = String> {
    let known: Vec<String> = lists::allowed()
        .into_iter()
        .chain(lists::denied().into_iter().map(|(_, line)| line))
        .flat_map(|line| line.split(' ').map(String::from).collect::<Vec<_>>())
        .collect();
    let names: Vec<String> =
        rows().iter().flat_map(|rule| rule.options()).flat_map(|opt| opt.names()).map(|name| (*name).into()).collect();
    let programs: Vec<String> = rows().iter().map(crate::gate::Rule::covers).collect();
    let word = prop_oneof![
        4 => prop::sample::select(known),
        3 => prop::sample::select(names),
        1 => "[-a-zA-Z0-9./*?{},:~^@=%+'\" \\\\$#!\\[\\]]{0,12}",
        1 => any::<String>(),
    ];
    (prop::sample::select(programs), prop::collection::vec(word, 0..7)).prop_map(|(program, words)| {
        let mut line = program;
        for word in words {
            line.push(' ');
            line.push_str(&word);
        }
        line
    })
}

/// An independent reader of POSIX words, by the grammar of the standard and not by the code of the gate: quoting is
/// removed from left to right by a regular automaton of three states. None where a quote is open.
fn posix_words(line: &str) -> Option<Vec<String>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Bare,
        Single,
        Double,
    }
    let chars: Vec<char> = line.chars().collect();
    let (mut words, mut current, mut state, mut at) = (Vec::new(), None::<String>, State::Bare, 0);
    while at < chars.len() {
        let (c, next) = (chars[at], chars.get(at + 1).copied());
        at += 1;
        match (state, c) {
            (State::Bare, ' ' | '\t') => words.extend(current.take()),
            (State::Bare, '\'') => {
                current.get_or_insert_default();
                state = State::Single;
            }
            (State::Bare, '"') => {
                current.get_or_insert_default();
                state = State::Double;
            }
            (State::Single, '\'') | (State::Double, '"') => state = State::Bare,
            (State::Bare, '\\') => {
                let escaped = next?;
                at += 1;
                if escaped != '\n' {
                    current.get_or_insert_default().push(escaped);
                }
            }
            (State::Double, '\\') if next.is_some_and(|next| "$`\"\\\n".contains(next)) => {
                at += 1;
                if next != Some('\n') {
                    current.get_or_insert_default().extend(next);
                }
            }
            _ => current.get_or_insert_default().push(c),
        }
    }
    words.extend(current);
    (state == State::Bare).then_some(words)
}

proptest! {
    #[test]
    fn no_text_makes_the_gate_panic(line in any::<String>()) {
        drop(verdict(&line));
    }

    #[test]
    fn no_line_makes_the_gate_panic(line in line()) {
        drop(verdict(&line));
    }

    #[test]
    fn words_are_read_as_an_independent_reader_reads_them(line in "[ab '\"\\\\\t$`|*{,}\n]{0,24}") {
        match (words::read(&line), posix_words(&line)) {
            (Ok(read), independent) => {
                let texts: Vec<String> = read.into_iter().map(|word| word.text).collect();
                prop_assert_eq!(Some(texts), independent);
            }
            (Err(words::Fault::OpenQuote { .. } | words::Fault::LoneBackslash { .. }), independent) => prop_assert_eq!(independent, None),
            (Err(words::Fault::Empty), independent) => prop_assert_eq!(independent, Some(Vec::new())),
            (Err(_), independent) => prop_assert!(independent.is_some()),
        }
    }

    #[test]
    fn what_is_inside_quotes_is_text(text in "[^'\0]{0,20}") {
        let line = format!("grep -- '{text}' README.md");
        let shown = verdict(&line).unwrap();
        let at = shown.argv.iter().position(|word| word == "--").unwrap();
        prop_assert_eq!(&shown.argv[at + 1], &text);
    }

    #[test]
    fn judging_a_rebuilt_line_again_gives_the_same_argv(line in line()) {
        if let Ok(shown) = verdict(&line) {
            let rebuilt = join(shown.argv.iter().map(String::as_str));
            let again = verdict(&rebuilt).map_err(|denial| TestCaseError::fail(format!("{rebuilt}: {}", denial.message)))?;
            prop_assert_eq!(&again.argv, &shown.argv);
            prop_assert_eq!(&again.added, &shown.added);
            prop_assert_eq!(&again.digest, &shown.digest);
        }
    }

    #[test]
    fn every_word_that_runs_is_of_the_row_or_a_checked_operand(line in line()) {
        if let Ok(shown) = verdict(&line) {
            every_word_is_known(&line, &shown);
        }
    }

    #[test]
    fn no_accepted_word_is_absolute_climbs_or_is_git_data(line in line()) {
        let Ok(shown) = verdict(&line) else { return Ok(()) };
        let behind = shown.argv.iter().position(|word| word == "--").map_or(shown.argv.len(), |at| at + 1);
        let is_grep_pattern = shown.program == crate::gate::Program::Grep && !shown.argv[..behind].iter().any(|word| word.starts_with("-e") || word.starts_with("--regexp"));
        for path in shown.argv.iter().skip(behind + usize::from(is_grep_pattern)) {
            let is_git = shown.program == crate::gate::Program::Git;
            let path = crate::gate::pathspec::path_of(path).filter(|_| is_git).unwrap_or(path);
            prop_assert!(!path.starts_with('/'), "{}", line);
            let mut depth = 0_i32;
            for component in path.split('/') {
                depth += match component { "" | "." => 0, ".." => -1, _ => 1 };
                prop_assert!(depth >= 0, "{}", line);
                prop_assert!(!component.eq_ignore_ascii_case(".git"), "{}", line);
            }
        }
    }
}

fn every_word_is_known(line: &str, shown: &crate::gate::Shown) {
    let rule = rows().iter().find(|rule| rule.program == shown.program && rule.verb == shown.verb).unwrap();
    let typed: Vec<String> = words::read(line).unwrap().into_iter().map(|word| word.text).collect();
    // A path for git stands without its ways up.
    let straight: Vec<String> = typed.iter().filter_map(|word| crate::gate::place::without_ways_up(word)).collect();
    let mut is_behind = false;
    for (at, word) in shown.argv.iter().enumerate() {
        let is_name =
            at == 0 || shown.added.contains(&at) || Some(word.as_str()) == shown.verb.map(crate::gate::Verb::name);
        if is_name || is_behind || word == "--" || !word.starts_with('-') {
            is_behind |= word == "--";
            assert!(is_name || word == "--" || typed.contains(word) || straight.contains(word), "{line}: {word}");
            continue;
        }
        let name = if word.starts_with("--") { word.split('=').next().unwrap() } else { &word[..2] };
        let (opt, _) = rule.option(name).unwrap_or_else(|| panic!("{line}: {word} is not of the row"));
        let value = word[name.len()..].trim_start_matches('=');
        assert_eq!(opt.value().is_none(), word == name && opt.value().is_none(), "{line}: {word}");
        let is_typed = value == "HEAD" || typed.iter().any(|typed| typed.ends_with(value));
        assert!(value.is_empty() || is_typed, "{line}: the value of {word} was not typed");
    }
}

#[test]
fn every_allowed_line_keeps_every_promise() {
    for line in lists::allowed() {
        let shown = verdict(line).unwrap();
        every_word_is_known(line, &shown);
        let rebuilt = join(shown.argv.iter().map(String::as_str));
        let again = verdict(&rebuilt).unwrap_or_else(|denial| panic!("{rebuilt}: {}", denial.message));
        assert_eq!((&again.argv, &again.added), (&shown.argv, &shown.added), "{line}");
    }
}

#[test]
fn quotes_around_any_word_change_nothing_where_no_shell_sign_is() {
    for line in lists::allowed().into_iter().filter(|line| !line.contains(['\'', '"', '\\', '{', '*', '#'])) {
        let quoted = line.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        assert_eq!(verdict(line).unwrap().argv, verdict(&quoted).unwrap().argv, "{line}");
    }
}

#[test]
fn a_file_named_like_a_revision_is_a_path() {
    let mut tree = Tree::shop();
    tree.add_file("main");
    assert_eq!(verdict_in(&tree, "git log main").unwrap().argv.last().map(String::as_str), Some("main"));
    assert_eq!(verdict_in(&tree, "git log main").unwrap().argv.iter().rev().nth(1).map(String::as_str), Some("--"));
    assert_eq!(verdict("git log main").unwrap().argv.last().map(String::as_str), Some("--"));
    // Behind it only paths may stand.
    assert_eq!(verdict_in(&tree, "git log main :/words").unwrap_err().kind, DenialKind::Operand);
    assert!(check("git log main :/words").is_ok());
    // git would take the colon off, and what is behind it was never looked up.
    for line in
        ["git log README.md :", "git log README.md ::../x", "git log README.md :.gitignore", "git log README.md :0:x"]
    {
        assert_eq!(verdict(line).unwrap_err().kind, DenialKind::Operand, "{line}");
    }
}
