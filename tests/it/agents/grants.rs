//! What an Agent may do, what it was told, what it was denied, and what judges its work (ADR-0035, D20-D22).

use super::bench::{Bench, TOKEN, bash, call, stub, write};
use owl_testkit::repo::Git;
use serde_json::{Value, json};
use std::{fs, path::Path};

const JUST: &str = "allowedTools:\n  - Bash(just:*)\n  - Bash(docker run, --rm (x):*)\n";

fn words(record: &Value) -> Vec<String> {
    record["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_denied_run_that_changed_nothing_is_blocked_with_the_line_to_add_and_both_places() {
    let mut bench = Bench::with(JUST, &[]).await;
    bench.script(json!([bash("curl https://example.org"), bash("curl https://example.org"), bash("git status")]));
    let (job, run) = bench.ran("Fetch it").await;
    assert_eq!((&job["state"], &run["outcome"], &run["exit_code"]), (&json!("blocked"), &json!("blocked"), &json!(0)));
    assert!(job["reason"].as_str().unwrap().contains("Bash(curl:*)"), "{}", job["reason"]);
    let [denial] = &run["denials"].as_array().unwrap()[..] else { panic!("{run}") };
    assert_eq!((&denial["count"], &denial["rule_to_add"]), (&json!(2), &json!("Bash(curl:*)")));
    let places = json!([
        { "file": bench.settings(), "key": "permissions.allow" },
        { "file": ".coding-owl.yaml", "key": "allowedTools" },
    ]);
    assert_eq!(denial["where"], places);

    let shown = bench.shown(&job).await;
    let list: Value = serde_json::from_str(super::bench::DEFAULT_LIST).unwrap();
    let rules: Vec<&str> =
        list["permissions"]["allow"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()).collect();
    assert_eq!(rules.len(), 15);
    let project = ["Bash(just:*)", "Bash(docker run, --rm (x):*)"];
    let expected: Vec<String> = rules.iter().chain(&project).map(|rule| format!("    allow  {rule}")).collect();
    let printed: Vec<&str> = shown.lines().filter(|line| line.starts_with("    allow  ")).collect();
    assert_eq!(printed, expected, "one rule a line, the Account's and then the Project's");
    assert!(shown.contains("denied 2× Bash: curl https://example.org"), "{shown}");
    assert!(shown.contains("to allow it add Bash(curl:*)"), "{shown}");
    assert!(shown.contains("-- 'Fetch it'") || shown.contains("-- \"Fetch it\""), "{shown}");
}

#[tokio::test]
async fn the_projects_rules_arrive_as_they_stand_on_the_base_branch_and_none_of_the_accounts() {
    let mut bench = Bench::with(JUST, &[]).await;
    // Whatever a working tree or another branch says has no effect.
    bench.repo.git(["switch", "--quiet", "--create", "other"]);
    bench.repo.commit_file(".coding-owl.yaml", "apiVersion: codingowl.dev/v1\nallowedTools: [Bash]\n");
    bench.repo.write(".coding-owl.yaml", "apiVersion: codingowl.dev/v1\nallowedTools: [WebFetch]\n");
    let widened = "apiVersion: codingowl.dev/v1\nallowedTools: [\"Bash(curl:*)\"]\n";
    bench.script(json!([write(".coding-owl.yaml", widened)]));
    let (job, first) = bench.ran("Widen it").await;
    bench.script(json!([bash("curl x"), bash("just test"), write("more.txt", "x\n")]));
    let (_, second) = bench.again(&job).await;
    let rules = json!(["Bash(just:*)", "Bash(docker run, --rm (x):*)"]);
    let commit = bench.repo.git(["rev-parse", "main"]);
    for (run, record) in [first, second.clone()].iter().zip(bench.records()) {
        assert_eq!(run["permissions"]["project"]["allowed_tools"], rules);
        assert_eq!(run["permissions"]["project"]["commit"], json!(commit));
        assert_eq!(record["allowed_tools"], rules, "each arrived as one rule");
        let argv: Vec<String> = words(&record);
        assert_eq!(run["argv"].as_array().unwrap()[1..], record["argv"].as_array().unwrap()[1..]);
        assert!(!argv.iter().any(|word| word.contains("Bash(git:*)")), "{argv:?}");
    }
    let denied: Vec<&Value> = second["denials"].as_array().unwrap().iter().map(|one| &one["rule_to_add"]).collect();
    assert_eq!(denied, ["Bash(curl:*)"], "what it wrote into its worktree grants nothing");
}

#[tokio::test]
async fn what_an_agent_leaves_for_the_tool_in_its_worktree_gains_it_nothing() {
    let mut bench = Bench::new().await;
    let local = r#"{"permissions":{"allow":["Bash","WebFetch"],"defaultMode":"bypassPermissions"}}"#;
    bench.script(json!([write("a.txt", "a\n")]));
    let (job, _) = bench.ran("Leave it").await;
    let left = Path::new(job["worktree"].as_str().unwrap()).join(".claude/settings.local.json");
    fs::create_dir_all(left.parent().unwrap()).unwrap();
    fs::write(&left, local).unwrap();
    bench.script(json!([
        bash("curl x"),
        call("WebFetch", json!({ "url": "https://example.org" })),
        write("b.txt", "b\n")
    ]));
    let (_, run) = bench.again(&job).await;
    let denied: Vec<&str> =
        run["denials"].as_array().unwrap().iter().map(|one| one["tool"].as_str().unwrap()).collect();
    assert_eq!(denied, ["Bash", "WebFetch"]);
    assert_eq!(run["permissions"]["reported"]["permission_mode"], "default");
}

#[tokio::test]
async fn a_run_that_changed_nothing_is_blocked_with_the_agents_last_words() {
    let mut bench = Bench::new().await;
    bench.script(json!([{ "say": "Nothing to do here." }]));
    let (job, run) = bench.ran("Do it").await;
    assert_eq!((&job["state"], &run["outcome"]), (&json!("blocked"), &json!("blocked")));
    assert!(job["reason"].as_str().unwrap().contains("I am done."), "{}", job["reason"]);
    assert_eq!(run["result_text"], "I am done.");
}

#[tokio::test]
async fn the_same_denial_twenty_times_over_ends_the_run() {
    let mut bench = Bench::new().await;
    let never = bench.home.path().join("never");
    bench.script(json!([
        write("a.txt", "a\n"),
        { "call": { "tool": "Bash", "input": { "command": "curl x" } }, "times": 20 },
        { "wait_for": never },
    ]));
    let (job, run) = bench.ran("Fetch it").await;
    assert_eq!((&job["state"], &run["denials"][0]["count"]), (&json!("blocked"), &json!(20)));
    assert!(job["reason"].as_str().unwrap().contains("Bash(curl:*)"), "{}", job["reason"]);
}

#[tokio::test]
async fn an_agent_that_calls_itself_a_failure_is_none_to_look_at() {
    let cases = [
        (json!([write("a.txt", "a\n"), { "is_error": "no credits" }]), "no credits"),
        (json!([write("a.txt", "a\n"), { "exit": 3 }]), "3"),
        (json!([write("a.txt", "a\n"), { "no_result": true }]), "without saying how it went"),
        (json!([write("a.txt", "a\n"), { "die": "KILL" }]), "SIGKILL"),
    ];
    let mut bench = Bench::new().await;
    for (script, expected) in cases {
        bench.script(script);
        let (job, run) = bench.ran("Do it").await;
        assert_eq!(job["state"], "blocked", "{expected}");
        assert!(job["reason"].as_str().unwrap().contains(expected), "{expected}: {}", job["reason"]);
        assert_eq!(run["exit_code"].is_null(), expected == "SIGKILL");
        assert_eq!(run["signal"], if expected == "SIGKILL" { json!("SIGKILL") } else { Value::Null });
    }
}

#[tokio::test]
async fn an_agent_has_its_own_accounts_token_and_no_other_credential() {
    let secret = "never-to-be-seen-by-an-agent";
    let planted = [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "OPENROUTER_API_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
    ];
    let variables: Vec<(&str, &str)> = planted.iter().map(|name| (*name, secret)).collect();
    let mut bench = Bench::with("", &variables).await;
    bench.client.ok("accounts.add", json!({ "name": "bare" })).await;
    bench.client.ok("accounts.add", json!({ "name": "other", "token": "sk-ant-oat01-of-the-other-9999" })).await;
    bench.script(json!([bash("git log -1"), write("a.txt", "a\n")]));
    for account in ["work", "bare", "other"] {
        let ask = json!({ "project": "app", "prompt": "Do it", "account": account });
        let job = bench.client.ok("jobs.create", ask).await["id"].as_str().unwrap().to_owned();
        let run = bench.start(&job).await;
        bench.finished(&job, &run).await;
    }
    let records = bench.records();
    let tokens: Vec<&Value> = records.iter().map(|record| &record["set"]["CLAUDE_CODE_OAUTH_TOKEN"]).collect();
    assert_eq!(tokens, [&json!(TOKEN), &Value::Null, &json!("sk-ant-oat01-of-the-other-9999")]);
    for record in &records {
        assert!(!record.to_string().contains(secret));
        assert!(!record["argv"].to_string().contains("sk-ant-oat01"));
        let names: Vec<&str> = record["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert!(
            !names
                .iter()
                .any(|name| ["ANTHROPIC_", "AWS_", "OPENROUTER_", "GOOGLE_"].iter().any(|f| name.starts_with(f)))
        );
    }
    let config_dir = bench.data().join("accounts/bare");
    assert_eq!(records[1]["set"]["CLAUDE_CONFIG_DIR"], json!(config_dir));
    // The tokens are nowhere but in their Agents and in the credential store.
    let logs = bench.home.path().join("state/coding-owl/logs");
    for entry in fs::read_dir(logs).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains(TOKEN) && !text.contains(secret));
    }
    let mut database = fs::read(bench.home.database()).unwrap();
    database.extend(fs::read(bench.data().join("owl.db-wal")).unwrap_or_default());
    for needle in [TOKEN, secret] {
        assert!(!database.windows(needle.len()).any(|window| window == needle.as_bytes()));
    }
    assert!(!bench.daemon.log().contains(TOKEN));
}

#[tokio::test]
async fn the_projects_checks_judge_from_the_base_branch_and_what_failed_is_shown() {
    let checks = "setup:\n  - echo ready > .ready\nchecks:\n  - name: ready\n    run: test -f .ready\n  - name: answer\n    run: 'echo checking; cat answer.txt; test \"$(cat answer.txt)\" = 42'\n";
    let mut bench = Bench::with(checks, &[]).await;
    bench.script(json!([write("answer.txt", "41\n"), write(".coding-owl.yaml", "apiVersion: codingowl.dev/v1\n"),]));
    let (job, run) = bench.ran("Answer").await;
    assert_eq!(job["state"], "blocked");
    assert!(job["reason"].as_str().unwrap().contains("answer"), "{}", job["reason"]);
    let [ready, answer] = &run["verification"].as_array().unwrap()[..] else { panic!("{run}") };
    assert_eq!((&ready["state"], &ready["output"]), (&json!("passed"), &Value::Null));
    assert_eq!(
        (&answer["state"], &answer["exit_code"], &answer["kind"]),
        (&json!("failed"), &json!(1), &json!("check"))
    );
    assert_eq!(answer["output"]["head"], "checking\n41\n");
    let shown = bench.shown(&job).await;
    assert!(shown.contains("check answer: failed") && shown.contains("| 41"), "{shown}");

    bench.script(json!([write("answer.txt", "42\n")]));
    let (job, run) = bench.again(&job).await;
    assert_eq!((&job["state"], &run["outcome"], &run["reason"]), (&json!("review"), &json!("review"), &Value::Null));
    assert!(run["verification"].as_array().unwrap().iter().all(|one| one["state"] == "passed"));
}

#[tokio::test]
async fn a_setup_that_fails_blocks_the_job_with_what_it_printed_and_starts_no_agent() {
    let mut bench = Bench::with("setup:\n  - echo no such thing; exit 7\n", &[]).await;
    let (job, _) = bench.ran("Do it").await;
    assert_eq!(job["state"], "blocked");
    let reason = job["reason"].as_str().unwrap();
    assert!(reason.contains("no such thing") && reason.contains('7'), "{reason}");
    assert_eq!(bench.records(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_fresh_agent_judges_with_the_accounts_list_alone() {
    let terms = format!("{JUST}verification:\n  agent: true\nunattendedClauses:\n  - Write tests first.\n");
    let mut bench = Bench::with(&terms, &[]).await;
    let review = |verdict: &str| {
        json!([
            { "when": "Review the work", "steps": [bash("just test"), { "verdict": verdict }] },
            { "steps": [write("a.txt", "a\n")] },
        ])
    };
    bench.scripts(review(r#"{"verdict":"pass","message":"It holds."}"#));
    let (job, run) = bench.ran("Do it").await;
    assert_eq!(job["state"], "review");
    let judged = &run["verification"][0];
    assert_eq!(
        (&judged["kind"], &judged["state"], &judged["message"]),
        (&json!("agent"), &json!("passed"), &json!("It holds."))
    );
    let [worker, verifier] = &bench.records()[..] else { panic!() };
    assert_eq!((worker["allowed_tools"].as_array().unwrap().len(), &verifier["allowed_tools"]), (2, &json!([])));
    assert!(words(worker).iter().any(|word| word.ends_with("Write tests first.")));
    assert_eq!(worker["set"]["CLAUDE_CONFIG_DIR"], verifier["set"]["CLAUDE_CONFIG_DIR"]);
    assert_eq!(run["denials"], json!([]), "what the Verifier was denied is not the Run's");
    assert_eq!(run["permissions"]["project"]["allowed_tools"].as_array().unwrap().len(), 2);

    bench.scripts(review(r#"{"verdict":"fail","message":"No tests."}"#));
    let (job, _) = bench.ran("Do it again").await;
    assert!(job["state"] == "blocked" && job["reason"].as_str().unwrap().contains("No tests."), "{job}");
    bench.scripts(json!([{ "when": "Review the work", "steps": [] }, { "steps": [write("a.txt", "a\n")] }]));
    let (job, run) = bench.ran("And again").await;
    assert_eq!((&job["state"], &run["verification"][0]["state"]), (&json!("blocked"), &json!("error")));
    assert!(job["reason"].as_str().unwrap().contains("no verdict"), "{}", job["reason"]);
}

#[tokio::test]
async fn a_mode_that_takes_the_lists_meaning_away_is_honoured_and_shown_loudly() {
    let mut bench = Bench::new().await;
    fs::write(bench.settings(), r#"{"permissions":{"allow":["Read"],"defaultMode":"acceptEdits"}}"#).unwrap();
    bench.script(json!([write("a.txt", "a\n")]));
    let (job, run) = bench.ran("Do it").await;
    assert_eq!(job["state"], "review");
    assert_eq!(run["permissions"]["account"]["default_mode"], "acceptEdits");
    assert_eq!(run["permissions"]["reported"]["permission_mode"], "acceptEdits");
    let shown = bench.shown(&job).await;
    assert!(shown.contains("NOTE: mode acceptEdits: the lists above do not mean what they say"), "{shown}");
}

/// What Owl does is taken away, one thing at a time: then the stub refuses what a real Agent could do nothing with. Were
/// it missing in Owl, every scenario here would fail.
#[tokio::test]
async fn without_the_seeded_file_or_with_prompts_on_or_without_the_projects_rules_the_stub_says_no() {
    let mut bench = Bench::with(JUST, &[]).await;
    bench.script(json!([bash("just test"), write("a.txt", "a\n")]));
    let (job, run) = bench.ran("Test it").await;
    assert_eq!((&job["state"], &run["denials"]), (&json!("review"), &json!([])));
    let [record] = &bench.records()[..] else { panic!() };
    let argv = words(record);
    let (script, worktree) = (bench.home.path().join("script.json"), job["worktree"].as_str().unwrap());
    let played = async |argv: &[String], config_dir: &Path| {
        // The stub works where it stands.
        let line = format!("cd {worktree} && exec \"$@\"");
        let mut args = vec!["-c", line.as_str(), "sh"];
        let program = stub();
        args.push(program.to_str().unwrap());
        args.extend(argv.iter().skip(1).map(String::as_str));
        let environment = [
            ("CLAUDE_CONFIG_DIR", config_dir.to_owned()),
            ("CLAUDE_CODE_OAUTH_TOKEN", TOKEN.into()),
            ("STUB_AGENT_SCRIPT", script.clone()),
            ("PATH", "/usr/bin:/bin".into()),
        ];
        owl_testkit::run("/bin/sh".as_ref(), &args, &environment, "").await
    };
    let account = bench.settings().parent().unwrap().to_owned();
    let control = played(&argv, &account).await;
    assert_eq!(control.code, Some(0), "{}", control.stderr);
    assert!(control.stdout.contains("\"permission_denials\":[]"), "{}", control.stdout);

    let unseeded = bench.home.path().join("unseeded");
    fs::create_dir(&unseeded).unwrap();
    let refused = played(&argv, &unseeded).await;
    assert_eq!(refused.code, Some(97), "{}", refused.stderr);
    assert!(refused.stderr.contains("settings"), "{}", refused.stderr);

    let at = argv.iter().position(|word| word == "--permission-prompts").unwrap();
    let mut prompting = argv.clone();
    prompting.drain(at..at + 2);
    let refused = played(&prompting, &account).await;
    assert_eq!(refused.code, Some(97), "{}", refused.stderr);
    assert!(refused.stderr.contains("prompts are on"), "{}", refused.stderr);

    let from = argv.iter().position(|word| word == "--allowedTools").unwrap();
    let mut without = argv.clone();
    without.drain(from..from + 3);
    let denied = played(&without, &account).await;
    assert_eq!(denied.code, Some(0), "{}", denied.stderr);
    assert!(denied.stdout.contains("\"subtype\":\"permission_denied\""), "{}", denied.stdout);
    assert_eq!(Git::at(Path::new(worktree)).run(["rev-parse", "--abbrev-ref", "HEAD"]), "owl/job-1");
}
