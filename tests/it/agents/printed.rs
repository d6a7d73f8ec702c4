//! What a person reads of a Job: nothing in it acts on a terminal or passes for a line of Owl's.

use super::bench::{Bench, TOKEN, bash, write};
use owl_testkit::Output;
use serde_json::json;
use std::fs;

/// Escapes, a carriage return, a bell, and text that runs backwards.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}b\rc\u{202e}d";

/// The characters that would act on a terminal.
fn acts(text: &str) -> Vec<char> {
    let acts = |c: &char| (c.is_control() && !"\n\t".contains(*c)) || ('\u{202a}'..='\u{202e}').contains(c);
    text.chars().filter(acts).collect()
}

#[tokio::test]
async fn whatever_an_agent_or_a_repository_says_is_printed_as_visible_text() {
    let hostile = json!(HOSTILE);
    let project = format!(
        "allowedTools: [{}]\nchecks: [{}]\n",
        json!("Bash(just:*)"),
        json!({
            "name": "größe", "run": format!("printf '%s\\n' {hostile}; printf '\\033[2J'; exit 1"),
        })
    );
    let mut bench = Bench::with(&project, &[]).await;
    bench.script(json!([
        { "say": HOSTILE },
        write(&format!("{HOSTILE}.txt"), "größe 日本\n"),
        bash(&format!("curl '{HOSTILE}'\n  allowed by the Account")),
        { "say": "done\n    allow  Bash" },
    ]));
    let (job, run) = bench.ran(&format!("größe 日本 {HOSTILE}")).await;
    let id = job["id"].as_str().unwrap();
    let mut all = String::new();
    for args in [&["jobs", "list"][..], &["jobs", "show", id, "--diff"], &["project", "show", "app"], &["logs", "r_1"]]
    {
        let Output { stdout, stderr, code } = bench.owl(args).await;
        assert_eq!(code, Some(0), "{args:?}: {stderr}");
        assert_eq!(acts(&stdout), [] as [char; 0], "{args:?}: {stdout:?}");
        assert!(stdout.contains("\\u{202e}d") || args[0] == "project", "{args:?}: {stdout}");
        all += &stdout;
    }
    assert!(all.contains("größe 日本"), "clean text is as it was: {all}");
    let own = |line: &&str| line.starts_with("    allow  Bash") || line.starts_with("  allowed by the Account");
    let shown = bench.shown(&job).await;
    let rules = run["permissions"]["account"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .chain(run["permissions"]["project"]["allowed_tools"].as_array().unwrap());
    let of_bash = rules.filter(|rule| rule.as_str().unwrap().starts_with("Bash")).count();
    assert_eq!(shown.lines().filter(own).count(), of_bash + 1, "nobody else writes such a line: {shown}");
}

#[tokio::test]
async fn an_accounts_token_is_nowhere_in_what_is_kept_and_told_of_a_run() {
    let mut bench = Bench::with("checks: [{ name: cat, run: 'cat a.txt; exit 1' }]\n", &[]).await;
    let said = format!("it is {TOKEN}");
    let denied = bash(&format!("curl -H {TOKEN} x"));
    bench.script(json!([{ "say": said }, { "raw": said }, { "stderr": said }, denied, write("a.txt", &said)]));
    let (judged, first) = bench.ran("Print it").await;
    let failed = json!([{ "stderr": said }, { "is_error": said }]);
    bench.script(failed);
    let (_, second) = bench.again(&judged).await;
    assert_eq!(first["verification"][0]["output"]["head"], "it is [token]");
    assert_eq!(first["stderr_tail"], "it is [token]\n");
    assert!(first["denials"][0]["input_summary"].as_str().unwrap().contains("curl -H [token] x"), "{first}");
    assert_eq!((&second["result_text"], &second["outcome"]), (&json!("it is [token]"), &json!("blocked")));
    assert!(second["reason"].as_str().unwrap().ends_with("it is [token]"), "{second}");
    let mut told = format!("{first}{second}{}", bench.shown(&judged).await);
    for run in [&first, &second] {
        told += &format!("{:?}", bench.log(run).await);
    }
    assert!(!told.contains(TOKEN), "{told}");
    let kept = [bench.home.database(), bench.data().join("owl.db-wal")];
    let logs = bench.home.path().join("state/coding-owl/logs");
    let logs = fs::read_dir(logs).unwrap().map(|entry| entry.unwrap().path());
    for file in kept.into_iter().chain(logs) {
        let bytes = fs::read(&file).unwrap_or_default();
        assert!(!bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes()), "{}", file.display());
    }
}

#[tokio::test]
async fn an_agent_that_never_began_is_not_shown_as_started() {
    let mut bench = Bench::with("setup: ['test -f ready']\n", &[]).await;
    bench.script(json!([write("a.txt", "a\n")]));
    let (job, _) = bench.ran("Do it").await;
    let shown = bench.shown(&job).await;
    assert!(shown.contains("setup failed") && !shown.contains("started as"), "{shown}");
    fs::write(std::path::Path::new(job["worktree"].as_str().unwrap()).join("ready"), "").unwrap();
    let (job, _) = bench.again(&job).await;
    let shown = bench.shown(&job).await;
    assert_eq!(shown.matches("  started as claude").count(), 1, "{shown}");
}
