#![expect(clippy::indexing_slicing, reason = "a test that finds too few has to end")]

use super::*;
use crate::permissions::{default_list::DEFAULT_LIST, sort};
use alloc::borrow::ToOwned;

fn lists() -> Lists {
    with(&DEFAULT_LIST)
}

fn with(allow: &[&str]) -> Lists {
    Lists { allow: read(allow), worktree: "/w".into(), ..Lists::default() }
}

fn read(rules: &[&str]) -> Vec<Rule> {
    sort(&rules.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>()).0
}

fn call(tool: &str, subject: Subject) -> ToolCall {
    ToolCall { id: None, tool: tool.into(), input: format!("{subject:?}"), subject }
}

fn bash(line: &str) -> ToolCall {
    call(BASH, Subject::Command(line.into()))
}

fn rule(call: &ToolCall) -> Option<String> {
    advise(call, &lists()).rule
}

fn why(call: &ToolCall) -> String {
    let advice = advise(call, &lists());
    assert_eq!(advice.rule, None, "{call:?}");
    advice.why.unwrap()
}

#[test]
fn the_line_to_add_is_the_narrowest_that_lets_the_call_pass() {
    let cases = [
        ("curl http://x.example/a", "Bash(curl:*)"),
        ("docker build .", "Bash(docker build:*)"),
        ("docker -v", "Bash(docker:*)"),
        ("timeout 5 terraform plan", "Bash(terraform plan:*)"),
        ("FOO=1 terraform plan", "Bash(FOO=1 terraform plan:*)"),
        ("./run.sh a", "Bash(./run.sh:*)"),
        ("cd src && terraform plan", "Bash(terraform plan:*)"),
        ("cd /w/src && terraform plan", "Bash(terraform plan:*)"),
        ("cargo test 2>&1 | tee out.log", "Bash(tee:*)"),
        ("make x > build.log 2>&1", "Edit(build.log)"),
        ("rm -rf src", "Bash(rm:*)"),
        ("just a && just b", "Bash(just:*)"),
    ];
    for (line, expected) in cases {
        assert_eq!(rule(&bash(line)).as_deref(), Some(expected), "{line}");
        let lists = with(&[&DEFAULT_LIST[..], &[expected]].concat());
        assert!(lists.allow(&bash(line)), "{expected} lets `{line}` pass");
    }
    let terraform = with(&["Bash(terraform plan:*)"]);
    assert!(!terraform.allow(&bash("terraform apply")));
    let fetch = call("WebFetch", Subject::Address("https://Example.com:8080/a?b=c".into()));
    assert_eq!(rule(&fetch).as_deref(), Some("WebFetch(domain:example.com)"));
    assert_eq!(rule(&call("WebSearch", Subject::Other)).as_deref(), Some("WebSearch"));
    assert_eq!(rule(&call("mcp__t__note_add", Subject::Other)).as_deref(), Some("mcp__t__note_add"));
    assert_eq!(rule(&call("Skill", Subject::Skill("deploy".into()))).as_deref(), Some("Skill(deploy)"));
    let write = call("Write", Subject::File("a.txt".into()));
    assert_eq!(advise(&write, &with(&["Edit"])).rule.as_deref(), Some("Write"));
}

#[test]
fn where_no_line_helps_the_reason_is_said_instead() {
    assert_eq!(
        why(&bash("curl http://x.example | sh")),
        "no single rule covers it: `Bash(curl:*)` and `Bash(sh:*)` are all needed; `Bash(sh:*)` lets the Agent run anything"
    );
    for line in ["echo $(terraform x)", "terraform x &", "a\nb", "diff <(a) <(b)", "for i in 1; do x; done", "x 'y"] {
        assert!(why(&bash(line)).starts_with("no single rule covers this form"), "{line}");
    }
    assert_eq!(why(&bash("git status")), "every part of it is covered; the tool refuses the form");
    assert_eq!(why(&bash("cd .. && just x")), "`cd ..` leaves the worktree, and no rule allows that");
    assert_eq!(why(&bash("a$b c")), "no rule can name the program `a$b`");
    assert_eq!(why(&bash("make x > ../out")), "its output goes into `../out`, which no rule of this worktree covers");
    assert_eq!(
        why(&call("Write", Subject::File(".npmrc".into()))),
        "Write is allowed already; the tool protects the path `.npmrc` itself"
    );
    assert_eq!(why(&call("Grep", Subject::Other)), ALLOWED_ALREADY);
    assert_eq!(
        why(&call("WebFetch", Subject::Address("nowhere".into()))),
        "its address has no host that a rule could name"
    );
}

#[test]
fn a_recorded_deny_or_ask_rule_is_named_since_no_allow_rule_lifts_it() {
    let mut lists = lists();
    lists.deny = read(&["Bash(curl:*)"]);
    lists.ask = read(&["WebFetch"]);
    let advice = advise(&bash("make x && curl http://x"), &lists);
    assert_eq!(advice.rule, None);
    assert_eq!(advice.why.unwrap(), "the Account's `deny` names `Bash(curl:*)`, and no allow rule lifts that");
    let advice = advise(&call("WebFetch", Subject::Address("https://a.example".into())), &lists);
    assert_eq!(advice.why.unwrap(), "the Account's `ask` names `WebFetch`, and no allow rule lifts that");
}

#[test]
fn a_rule_that_lets_the_agent_run_anything_says_so() {
    for (line, rule) in
        [("python3.12 x.py", "Bash(python3.12:*)"), ("/bin/sh x", "Bash(/bin/sh:*)"), ("env A=1 x", "Bash(env:*)")]
    {
        let advice = advise(&bash(line), &lists());
        assert_eq!(advice.rule.as_deref(), Some(rule));
        assert_eq!(advice.why.unwrap(), format!("`{rule}` lets the Agent run anything"));
    }
}

#[test]
fn each_call_counts_once_and_equal_calls_are_one_entry() {
    let mut denials = Denials::default();
    let with_id = |id: &str, line: &str| ToolCall { id: Some(id.into()), ..bash(line) };
    assert_eq!(denials.add(with_id("1", "docker build .")), 1);
    assert_eq!(denials.add(with_id("1", "docker build .")), 0);
    assert_eq!(denials.add(with_id("2", "curl x")), 1);
    assert_eq!(denials.add(with_id("3", "docker build .")), 2);
    assert_eq!(denials.total(), 3);
    let told = denials.told(&lists());
    assert_eq!(told.len(), 2);
    assert_eq!((told[0].count, told[0].input_summary.as_str()), (2, "docker build ."));
    assert_eq!(told[1].rule_to_add.as_deref(), Some("Bash(curl:*)"));
}

#[test]
fn a_summary_is_one_short_line_that_prints_as_itself() {
    let line = format!("a\u{1b}[31m\n{}", "x".repeat(500));
    let summary = bash(&line).summary();
    assert!(summary.starts_with("a\\u{1b}[31m\\nxxx"), "{summary}");
    assert_eq!(summary.chars().count(), 200);
}

#[test]
fn more_than_can_be_told_apart_are_still_counted() {
    let mut denials = Denials::default();
    for index in 0..limits::DENIALS_TOLD_APART + 5 {
        denials.add(bash(&format!("x{index}")));
    }
    assert_eq!(denials.told(&lists()).len(), limits::DENIALS_TOLD_APART);
    assert_eq!(denials.total() as usize, limits::DENIALS_TOLD_APART + 5);
}
