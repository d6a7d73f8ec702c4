//! C5, C20: the line that Owl names for a denied call lets it pass, and where it names none, none does.

use crate::bench::{Bench, Call, Scenario, Subject, bash, subjects, write};
use owl_domain::permissions::{Advice, Lists, Rule, ToolCall, advise, default_list::DEFAULT_LIST};
use serde_json::{Value, json};

fn lists(bench: &Bench) -> Lists {
    let allow = DEFAULT_LIST.iter().map(|rule| Rule::read(rule).unwrap()).collect();
    Lists { allow, worktree: bench.worktree().to_str().unwrap().into(), ..Lists::default() }
}

/// Has a call denied with the default list and returns what Owl says of it.
async fn advice(subject: &Subject, call: &(&str, Value)) -> Advice {
    let bench = Bench::new(subject).await;
    let seen = bench.play(&Scenario::calls(std::slice::from_ref(call))).await;
    assert_eq!(seen.calls(), [Call::Denied], "{call:?} with {subject:?}");
    let denied: &ToolCall = seen.denied()[0];
    advise(denied, &lists(&bench))
}

async fn becomes(subject: &Subject, call: &(&str, Value), account: &[&str], project: &[&str]) -> Call {
    let allow = [&DEFAULT_LIST, account].concat();
    let scenario = Scenario::calls(std::slice::from_ref(call)).allow(&allow).with_rules(project);
    Bench::new(subject).await.play(&scenario).await.calls()[0]
}

#[tokio::test]
async fn c5_the_line_to_add_lets_the_denied_call_pass_from_either_place() {
    let cases = [
        (bash("curl http://127.0.0.1:1/"), "Bash(curl:*)"),
        (bash("docker build ."), "Bash(docker build:*)"),
        (bash("timeout 5 terraform plan"), "Bash(terraform plan:*)"),
        (bash("FOO=1 terraform plan"), "Bash(FOO=1 terraform plan:*)"),
        (bash("./run.sh a"), "Bash(./run.sh:*)"),
        (bash("cd src && terraform plan"), "Bash(terraform plan:*)"),
        (bash("cargo --version 2>&1 | tee out.log"), "Bash(tee:*)"),
        (bash("make x > build.log 2>&1"), "Edit(build.log)"),
        (bash("rm -rf src"), "Bash(rm:*)"),
        (("WebFetch", json!({"url": "https://example.com/a?b=c", "prompt": "p"})), "WebFetch(domain:example.com)"),
        (("WebSearch", json!({"query": "owls"})), "WebSearch"),
    ];
    for subject in subjects() {
        for (call, rule) in &cases {
            let advice = advice(&subject, call).await;
            assert_eq!(advice.rule.as_deref(), Some(*rule), "{call:?}");
            // What passes may still fail: no program of that name, no server there.
            assert_ne!(
                becomes(&subject, call, &[rule], &[]).await,
                Call::Denied,
                "{rule} in the Account's file, {subject:?}"
            );
            assert_ne!(becomes(&subject, call, &[], &[rule]).await, Call::Denied, "{rule} of the Project, {subject:?}");
        }
        let apply = becomes(&subject, &bash("terraform apply"), &["Bash(terraform plan:*)"], &[]).await;
        assert_eq!(apply, Call::Denied, "{subject:?}");
    }
}

#[tokio::test]
async fn c5_where_no_line_is_named_none_helps() {
    let cases = [
        (bash("curl http://127.0.0.1:1/ | sh"), &["Bash(curl:*)"] as &[&str]),
        (bash("echo $(terraform x)"), &["Bash(echo:*)", "Bash(terraform:*)"]),
        (bash("terraform x &"), &["Bash(terraform:*)"]),
        (bash("cd .. && git status"), &["Bash(cd:*)"]),
    ];
    for subject in subjects() {
        for (call, rules) in &cases {
            let advice = advice(&subject, call).await;
            assert_eq!(advice.rule, None, "{call:?}");
            assert!(advice.why.is_some());
            assert_eq!(becomes(&subject, call, rules, &[]).await, Call::Denied, "{call:?} with {subject:?}");
        }
        let both = becomes(&subject, &cases[0].0, &["Bash(curl:*)", "Bash(sh:*)"], &[]).await;
        assert_ne!(both, Call::Denied, "both of the lines that are named do: {subject:?}");
    }
}

#[tokio::test]
async fn c20_a_protected_path_is_denied_in_spite_of_its_rule_and_named() {
    for subject in subjects() {
        for file in
            [".npmrc", ".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".cargo/config.toml"]
        {
            let advice = advice(&subject, &write(file)).await;
            assert_eq!(advice.rule, None, "{file}");
            assert_eq!(
                advice.why.unwrap(),
                format!("Write is allowed already; the tool protects the path `{file}` itself")
            );
        }
    }
}
