//! What a person reads of a Job: nothing in it acts on a terminal or passes for a line of Owl's.

use super::bench::{Bench, bash, write};
use owl_testkit::Output;
use serde_json::json;

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
