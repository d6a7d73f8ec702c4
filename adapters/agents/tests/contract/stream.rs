//! C11, C17, C19, C22: the stream.

use crate::bench::{Bench, Call, Scenario, bash, real, stubs, subjects, write};
use owl_domain::{job::Exit, permissions::Denials};
use owl_testkit::SUBAGENT;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[tokio::test]
async fn c11_init_comes_before_anything_that_the_agent_says() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let seen = bench.play(&Scenario::calls(&[write("NOTE.txt")])).await;
        let at = |wanted: &dyn Fn(&Value) -> bool| seen.lines.iter().position(wanted).unwrap();
        let init = at(&|line| line["type"] == "system" && line["subtype"] == "init");
        assert!(init < at(&|line| line["type"] == "assistant"));
        for field in [
            "session_id",
            "cwd",
            "tools",
            "mcp_servers",
            "model",
            "permissionMode",
            "apiKeySource",
            "claude_code_version",
        ] {
            assert!(seen.lines[init].get(field).is_some(), "{field} with {subject:?}");
        }
        let reported = seen.reported();
        assert_eq!(reported.tool_version.as_ref(), Some(&bench.tool().await.version));
        assert_eq!(reported.api_key_source.as_deref(), Some("none"), "with an Account's token");
        assert!(reported.tools.contains(&"Bash".into()));
    }
}

#[tokio::test]
async fn c17_without_a_credential_the_run_is_no_success() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let seen = bench.play(&Scenario { token: false, ..Scenario::calls(&[write("NOTE.txt")]) }).await;
        let result = seen.result().unwrap();
        assert_eq!(
            (result.is_error, result.subtype.as_str(), &seen.exit.exit),
            (true, "success", &Exit::Code(1)),
            "{subject:?}"
        );
        assert_eq!(result.text.as_deref(), Some("Not logged in · Please run /login"));
    }
}

#[tokio::test]
async fn c19_a_denial_in_a_subagent_and_two_result_lines_count_once() {
    for subject in stubs() {
        let bench = Bench::new(&subject).await;
        let denied = json!({"call": {"tool": "Bash", "input": {"command": "curl x"}}, "subagent": true});
        let scenario = Scenario { then: vec![denied, json!({"result": "the first"})], ..Scenario::default() };
        let seen = bench.play(&scenario).await;
        assert_eq!(seen.lines.iter().filter(|line| line["type"] == "result").count(), 2);
        let last = seen.lines.iter().rfind(|line| line["type"] == "result").unwrap();
        assert_eq!(last["permission_denials"], json!([]), "the last line alone would lose it");
        let mut denials = Denials::default();
        for call in seen.denied() {
            denials.add(call.clone());
        }
        assert_eq!(denials.total(), 1);
        assert_eq!(seen.calls(), [Call::Denied]);
    }
}

#[tokio::test]
async fn c19_a_denial_in_a_subagent_of_the_real_tool_counts_once() {
    let reals = real();
    if reals.is_empty() {
        eprintln!("SKIPPED for the real tool: c19 (OWL_TEST_CLAUDE names none)");
    }
    for subject in reals {
        let bench = Bench::new(&subject).await;
        let prompt = format!("{SUBAGENT}: run curl");
        let input = json!({"description": "a subagent", "prompt": prompt, "subagent_type": "general-purpose"});
        let scenario = Scenario {
            of_subagent: vec![("Bash".into(), json!({"command": "curl http://127.0.0.1:9/", "description": "x"}))],
            ..Scenario::calls(&[("Task", input)])
        };
        let (seen, api) = bench.play_with_api(&scenario).await;
        assert!(api.requests().len() >= 4, "both agents were asked, and asked again with their results");
        let mut denials = Denials::default();
        for call in seen.denied() {
            assert_eq!((call.id.as_deref(), call.tool.as_str()), (Some("toolu_s0_0"), "Bash"));
            denials.add(call.clone());
        }
        assert_eq!(denials.total(), 1, "{:?}", seen.denied());
        // The newer one runs it in the background: it says the end of the first turn, and that of the one in which it
        // hears from the subagent.
        let results = seen.lines.iter().filter(|line| line["type"] == "result").count();
        let expected = if bench.tool().await.version.starts_with("2.1.332") { 2 } else { 1 };
        assert_eq!(results, expected, "{subject:?}");
        assert_eq!((&seen.exit.exit, seen.result().unwrap().is_error), (&Exit::Code(0), false));
    }
}

/// The names of each kind of line, by type and subtype.
fn fields(lines: &[Value]) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in lines {
        let subtype = if line["type"] == "system" { line["subtype"].as_str().unwrap() } else { "" };
        let kind = format!("{} {subtype}", line["type"].as_str().unwrap());
        all.entry(kind).or_default().extend(line.as_object().unwrap().keys().cloned());
    }
    all
}

#[tokio::test]
async fn c22_the_stub_says_nothing_that_the_real_tool_does_not() {
    let reals = real();
    if reals.is_empty() {
        eprintln!("SKIPPED for the real tool: c22 compares with it (OWL_TEST_CLAUDE names none)");
    }
    for subject in reals {
        let scenario = Scenario::calls(&[write("NOTE.txt"), bash("make x"), bash("curl x")]);
        let bench = Bench::new(&subject).await;
        let version = bench.tool().await.version;
        let real = fields(&bench.play(&scenario).await.lines);
        for stub in stubs() {
            let bench = Bench::new(&stub).await;
            if bench.tool().await.version != version {
                continue;
            }
            for (kind, names) in fields(&bench.play(&scenario).await.lines) {
                let there = real.get(&kind).unwrap_or_else(|| panic!("the real tool sends no `{kind}`"));
                let more: Vec<_> = names.difference(there).collect();
                assert!(more.is_empty(), "`{kind}` of the stub has {more:?}, and of {version} it does not");
            }
        }
    }
}
