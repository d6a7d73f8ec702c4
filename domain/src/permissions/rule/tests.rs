use super::*;
use crate::permissions::{Subject, default_list::DEFAULT_LIST};
use alloc::borrow::ToOwned;

fn command(line: &str) -> ToolCall {
    ToolCall { id: None, tool: BASH.into(), subject: Subject::Command(line.into()), input: line.into() }
}

fn fetch(address: &str) -> ToolCall {
    ToolCall { id: None, tool: "WebFetch".into(), subject: Subject::Address(address.into()), input: address.into() }
}

fn write(file: &str) -> ToolCall {
    ToolCall { id: None, tool: "Write".into(), subject: Subject::File(file.into()), input: file.into() }
}

fn passes(rules: &[&str], call: &ToolCall) -> bool {
    let list: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
    allows(&sort(&list).0, call, "/w")
}

/// Each was tried with the real tool, which lets nothing pass by any of them.
#[test]
fn a_rule_that_the_tool_ignores_is_dead_with_the_reason() {
    let dead = [
        ("", "a blank stands where none may; the tool ignores it"),
        (" Bash(x:*)", "a blank stands where none may; the tool ignores it"),
        ("Bash (x:*)", "a blank stands where none may; the tool ignores it"),
        ("Bash(x:*", "its parenthesis is not closed; the tool ignores it"),
        ("Bash(x:*) y", "text stands behind the closing parenthesis; the tool ignores it"),
        ("Bash(x:*)y", "text stands behind the closing parenthesis; the tool ignores it"),
        ("Bash()", "its parentheses are empty; the tool ignores it"),
        ("bash", "the tool is called Bash, in exactly this case; the tool ignores it"),
        ("BASH(x)", "the tool is called Bash, in exactly this case; the tool ignores it"),
        ("write", "the tool is called Write, in exactly this case; the tool ignores it"),
        ("Bash:x", "write Bash(x); as it stands the tool ignores it"),
        ("*", "`*` names no tool; the tool ignores it"),
        ("Ba*", "`Ba*` names no tool; the tool ignores it"),
        ("Write(NOTE.txt)", "the tool never looks at a path of Write; write Edit(NOTE.txt)"),
        ("WebFetch(example.com)", "write WebFetch(domain:HOST), without a port; the tool ignores it"),
        ("WebFetch(domain:example.com:80)", "write WebFetch(domain:HOST), without a port; the tool ignores it"),
    ];
    for (rule, why) in dead {
        assert_eq!(Rule::read(rule).map_err(|dead| dead.to_string()), Err(why.to_owned()), "{rule}");
    }
    for rule in DEFAULT_LIST.iter().copied().chain(["Bash", "Bash(*)", "Write(*)", "mcp__s__t", "Skill(a)", "Edit(**)"])
    {
        assert!(Rule::read(rule).is_ok(), "{rule}");
    }
}

#[test]
fn a_rule_covers_its_program_and_nothing_longer() {
    for rule in ["Bash(./run.sh:*)", "Bash(./run.sh *)", "Bash(./run.sh a)", "Bash(./run.sh*)", "Bash(*run.sh*)"] {
        assert!(passes(&[rule], &command("./run.sh a")), "{rule}");
    }
    for rule in ["Bash(./run.sh)", "Bash(run.sh:*)", "Bash(./run.sh:*:*)", "Bash(:*)", "Bash(./*:*)", "Bash(*:*)"] {
        assert!(!passes(&[rule], &command("./run.sh a")), "{rule}");
    }
    assert!(passes(&["Bash(terraform plan:*)"], &command("terraform plan -no-color")));
    assert!(!passes(&["Bash(terraform plan:*)"], &command("terraform apply")));
    assert!(!passes(&["Bash(terraform plan:*)"], &command("terraform planner")));
    assert!(!passes(&["Bash(sh:*)"], &command("/bin/sh x")));
}

#[test]
fn every_part_of_a_line_must_be_covered() {
    let check = |line: &str, expected: bool| assert_eq!(passes(&DEFAULT_LIST, &command(line)), expected, "{line}");
    for line in [
        "git status && make x",
        "git log | sort | uniq",
        "cd src && make x",
        "make x 2>&1",
        "make x > /dev/null",
        "make x # c",
        "timeout 5 make x",
        "timeout -s KILL 5 make x",
        "time make x",
        "nice -n 5 make x",
        "NODE_ENV=test make x",
        "git commit -m 'a\n\nb'",
        "ls && cat README.md",
        "docker ps",
        "git log |& cat",
        "! git status",
    ] {
        check(line, true);
    }
    for line in [
        "curl x",
        "curl x | sh",
        "make x | tee o",
        "cd .. && git status",
        "cd / && git status",
        "env A=1 make x",
        "FOO=1 make x",
        "make x > out.txt",
        "echo hi > out.txt",
        "echo $(make x)",
        "make x &",
        "echo `make x`",
        "git status & make x",
        "(git status)",
        "cat <<EOF",
        "find . -delete",
        "find . -exec ls {} +",
        "sort -o a b",
        "make 'x",
    ] {
        check(line, false);
    }
    assert!(passes(&["Edit(out.txt)"], &command("echo hi > out.txt")));
    assert!(!passes(&["Edit", "Write", "Bash(echo:*)"], &command("echo hi > out.txt")));
    assert!(!passes(&["Bash(echo:*)", "Bash(x:*)"], &command("echo $(x)")));
    assert!(passes(&["Bash"], &command("echo $(x)")));
    assert!(!passes(&["Bash(cd:*)"], &command("cd .. && ls")), "no rule covers leaving the worktree");
    assert!(passes(&["Edit"], &command("A=1")));
}

#[test]
fn the_other_tools_are_covered_by_name_domain_server_or_path() {
    assert!(passes(&["WebFetch(domain:example.com)"], &fetch("https://EXAMPLE.com:8080/a?b=c")));
    assert!(!passes(&["WebFetch(domain:example.com)"], &fetch("https://sub.example.com/a")));
    assert!(passes(&["WebFetch(domain:*.example.com)"], &fetch("https://sub.example.com/a")));
    assert!(!passes(&["WebFetch(domain:*.example.com)"], &fetch("https://example.com/a")));
    assert!(!passes(&["WebFetch(domain:example.com)"], &fetch("https://example.com@evil.example/a")));
    assert!(passes(&["Write"], &write("a.txt")));
    assert!(passes(&["Edit(a.txt)"], &write("a.txt")));
    assert!(!passes(&["Edit"], &write("a.txt")));
    let call = |tool: &str| ToolCall { id: None, tool: tool.into(), subject: Subject::Other, input: "{}".into() };
    assert!(passes(&["mcp__t"], &call("mcp__t__note_add")));
    assert!(passes(&["mcp__t__note_add"], &call("mcp__t__note_add")));
    assert!(!passes(&["mcp__t__note"], &call("mcp__t__note_add")));
}
