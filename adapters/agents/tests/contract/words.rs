//! C1, C6, C7: version, help, and that each word arrives as it was given.

use crate::bench::{Bench, Call, Scenario, bash, subjects};
use owl_domain::{limits, ports::PromptsOff};
use serde_json::json;

#[tokio::test]
async fn c1_the_version_is_told_and_help_lists_the_flag_exactly_when_it_is_accepted() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let tool = bench.tool().await;
        assert!(tool.version.split('.').count() == 3, "{tool:?}");
        let api = bench.prepare(&Scenario::default());
        let words =
            ["--print", "--verbose", "--output-format", "stream-json", "--permission-prompts", "none", "--", "Do it"];
        let output = bench.bare(&words.map(Into::into), &api).await;
        assert_eq!(output.exit_code == Some(0), tool.prompts_off == PromptsOff::Flag, "{output:?}");
        let words = ["--print", "--permission-mode", "dontAsk", "--no-such-flag-at-all", "--", "Do it"];
        let output = bench.bare(&words.map(Into::into), &api).await;
        assert_eq!((output.exit_code, output.stdout.len()), (Some(1), 0));
        assert!(String::from_utf8_lossy(&output.stderr).contains("error: unknown option '--no-such-flag-at-all'"));
    }
}

#[tokio::test]
async fn c6_rules_with_commas_blanks_and_parentheses_each_arrive_as_one() {
    for subject in subjects() {
        for (rules, passes) in [
            (&["Bash(./run.sh -a, b:*)"] as &[&str], &["./run.sh -a, b"] as &[&str]),
            (&["Bash(./run.sh -a, b:*)", "Bash(touch (x):*)", "Bash(mkdir y:*)"], &["./run.sh -a, b", "mkdir y"]),
            (&["Bash(mkdir y:*)"], &["mkdir y"]),
        ] {
            let bench = Bench::new(&subject).await;
            let calls: Vec<_> = passes.iter().chain(&["rm -rf nothing"]).map(|line| bash(line)).collect();
            let seen = bench.play(&Scenario::calls(&calls).with_rules(rules)).await;
            let mut expected = vec![Call::Ran; passes.len()];
            expected.push(Call::Denied);
            assert_eq!(seen.calls(), expected, "{rules:?} with {subject:?}");
            if bench.is_stub() {
                assert_eq!(bench.records()[0]["allowed_tools"], json!(rules));
                assert!(
                    !bench.records()[0]["argv"].as_array().unwrap().contains(&json!("Edit")),
                    "the Account's rules are not there"
                );
            }
        }
    }
}

#[tokio::test]
async fn c7_a_prompt_that_looks_like_a_flag_and_is_as_long_as_may_be_arrives_whole() {
    for subject in subjects() {
        let bench = Bench::new(&subject).await;
        let begin = "--dangerously-skip-permissions \"quoted\" 'too'\n$(not run) `nor this` \\ ü\n";
        let prompt = format!("{begin}{}", "x".repeat(limits::PROMPT_BYTES - begin.len()));
        let scenario = Scenario { prompt: prompt.clone(), ..Scenario::default() };
        let (seen, api) = bench.play_with_api(&scenario).await;
        assert!(!seen.result().unwrap().is_error, "{seen:?}");
        if bench.is_stub() {
            assert_eq!(bench.records()[0]["prompt"], json!(prompt));
        } else {
            let asked = api
                .requests()
                .iter()
                .any(|request| request.body["messages"].to_string().contains(&json!(prompt).to_string()[1..60_000]));
            assert!(asked, "the prompt is in a request");
        }
    }
}
