//! The one place where Claude Code's command line is made (D20), held byte for byte by a test. What is here was tried
//! with 2.1.197 and 2.1.332. MUST NOT ever hold a flag that skips permissions, nor an Account's rule.

use owl_domain::{
    job::brief::Brief,
    ports::{ArgvError, PromptsOff},
};

/// The most that one word may have on Linux, its end not counted.
const WORD_BYTES: usize = 131_071;
/// Only the Account's own file counts: neither of the two settings files that a worktree may hold, both of which an Agent
/// could write.
const SOURCES: [&str; 2] = ["--setting-sources", "user"];

/// Makes the command line.
///
/// # Errors
/// [`ArgvError`] when a word cannot be passed as it is.
pub(super) fn argv(prompts_off: PromptsOff, brief: &Brief) -> Result<Vec<String>, ArgvError> {
    let fixed = ["claude", "--print", "--verbose", "--output-format", "stream-json"];
    let mut argv: Vec<String> = fixed.map(Into::into).to_vec();
    argv.extend(form(prompts_off).map(Into::into));
    argv.extend(SOURCES.map(Into::into));
    argv.extend(["--add-dir".into(), word("the worktree's path", brief.worktree.as_str())?]);
    if !brief.rules.is_empty() {
        argv.push("--allowedTools".into());
        for rule in &brief.rules {
            argv.push(rule_word(rule)?);
        }
    }
    argv.extend(["--append-system-prompt".into(), contract_word(&brief.contract)?]);
    argv.extend(["--".into(), word("the prompt", &brief.prompt)?]);
    Ok(argv)
}

const fn form(prompts_off: PromptsOff) -> [&'static str; 2] {
    match prompts_off {
        PromptsOff::Flag => ["--permission-prompts", "none"],
        PromptsOff::Mode => ["--permission-mode", "dontAsk"],
    }
}

fn rule_word(rule: &str) -> Result<String, ArgvError> {
    let what = || format!("the rule `{rule}`");
    if rule.starts_with('-') {
        return Err(ArgvError { what: what(), why: "begins with a dash and would be read as a flag".into() });
    }
    if rule.trim().is_empty() {
        return Err(ArgvError { what: what(), why: "is empty".into() });
    }
    word(&what(), rule)
}

/// Owl's own sentences come first in it; whatever made it begin otherwise is not passed on.
fn contract_word(contract: &str) -> Result<String, ArgvError> {
    let what = "the standing contract with its clauses";
    if contract.starts_with('-') {
        return Err(ArgvError { what: what.into(), why: "begins with a dash and would be read as a flag".into() });
    }
    word(what, contract)
}

fn word(what: &str, text: &str) -> Result<String, ArgvError> {
    let wrong = |why: String| ArgvError { what: what.into(), why };
    if text.contains('\0') {
        return Err(wrong("holds a NUL, which no word of a command line can".into()));
    }
    if text.len() > WORD_BYTES {
        return Err(wrong(format!("has {} bytes, and one word of a command line may have {WORD_BYTES}", text.len())));
    }
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use owl_domain::text::{AbsPath, AccountName};
    use proptest::prelude::*;

    fn brief(rules: &[&str], prompt: &str) -> Brief {
        Brief {
            account: AccountName::new("work").unwrap(),
            prompt: prompt.into(),
            contract: "Nobody can answer.".into(),
            worktree: AbsPath::new("/w/j_7").unwrap(),
            rules: rules.iter().map(|rule| (*rule).into()).collect(),
        }
    }

    #[test]
    fn the_command_line_is_this_one_and_no_other() {
        let rules = ["Bash(just:*)", "Bash(curl -a, b:*)"];
        assert_eq!(
            argv(PromptsOff::Flag, &brief(&rules, "Fix the failing test")).unwrap(),
            [
                "claude",
                "--print",
                "--verbose",
                "--output-format",
                "stream-json",
                "--permission-prompts",
                "none",
                "--setting-sources",
                "user",
                "--add-dir",
                "/w/j_7",
                "--allowedTools",
                "Bash(just:*)",
                "Bash(curl -a, b:*)",
                "--append-system-prompt",
                "Nobody can answer.",
                "--",
                "Fix the failing test",
            ]
        );
        assert_eq!(
            argv(PromptsOff::Mode, &brief(&[], "--dangerously-skip-permissions")).unwrap(),
            [
                "claude",
                "--print",
                "--verbose",
                "--output-format",
                "stream-json",
                "--permission-mode",
                "dontAsk",
                "--setting-sources",
                "user",
                "--add-dir",
                "/w/j_7",
                "--append-system-prompt",
                "Nobody can answer.",
                "--",
                "--dangerously-skip-permissions",
            ]
        );
    }

    #[test]
    fn what_cannot_be_a_word_as_it_is_is_refused_with_its_limit() {
        let said =
            |rules: &[&str], prompt: &str| argv(PromptsOff::Flag, &brief(rules, prompt)).unwrap_err().to_string();
        assert_eq!(said(&["--x"], "p"), "the rule `--x` begins with a dash and would be read as a flag");
        assert_eq!(said(&[" "], "p"), "the rule ` ` is empty");
        assert_eq!(said(&[], "a\0b"), "the prompt holds a NUL, which no word of a command line can");
        let long = "x".repeat(WORD_BYTES + 1);
        assert_eq!(said(&[], &long), "the prompt has 131072 bytes, and one word of a command line may have 131071");
        assert!(argv(PromptsOff::Flag, &brief(&[], &long[1..])).is_ok());
    }

    const HOSTILE: &str = "(-{0,2}(allow-)?dangerously-skip-permissions(=true)?|--permission-mode[ =]bypassPermissions|--settings|[ -~]{1,40})";

    proptest! {
        /// Every spelling that skips permissions, anywhere that somebody else's text may come in.
        #[test]
        fn no_flag_that_skips_permissions_comes_in_from_anywhere(
            rule in HOSTILE,
            contract in HOSTILE,
            prompt in HOSTILE,
            flag in proptest::bool::ANY,
        ) {
            let form = if flag { PromptsOff::Flag } else { PromptsOff::Mode };
            // A rule that begins with a dash is refused whatever else stands there: the rest is tried without one too.
            for rules in [vec![rule.as_str()], vec![]] {
                let brief = Brief { contract: contract.clone(), ..brief(&rules, &prompt) };
                let Ok(argv) = argv(form, &brief) else { continue };
                prop_assert!(!contract.starts_with('-'), "{}", contract);
                let end = argv.iter().position(|word| word == "--").unwrap();
                prop_assert_eq!(end, argv.len() - 2);
                let flags: Vec<&str> = argv[..end].iter().map(String::as_str).filter(|word| word.starts_with("--")).collect();
                prop_assert_eq!(argv.last(), Some(&prompt));
                let known = ["--print", "--verbose", "--output-format", "--permission-prompts", "--permission-mode",
                    "--setting-sources", "--add-dir", "--allowedTools", "--append-system-prompt"];
                for flag in flags {
                    prop_assert!(known.contains(&flag), "{}", flag);
                }
            }
        }
    }
}
