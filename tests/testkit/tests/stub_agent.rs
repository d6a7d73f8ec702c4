//! The stub agent refuses what a real Agent could do nothing with (ADR-0035, D23), and denies as the real tool does.
//! That this test is here also has Cargo build the stub whenever the workspace is tested.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has to end")]

use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

struct Stub {
    home: TempDir,
    settings: Option<String>,
    version: &'static str,
    script: Value,
}

const DEFAULT: &str = include_str!("../../../schemas/default-permissions.json");
const GOOD: [&str; 9] = [
    "--print",
    "--verbose",
    "--output-format",
    "stream-json",
    "--permission-prompts",
    "none",
    "--setting-sources",
    "user",
    "--",
];

impl Stub {
    fn new() -> Self {
        let (home, version) = (TempDir::new().unwrap(), "2.1.332");
        fs::create_dir(home.path().join("work")).unwrap();
        Self { home, settings: Some(DEFAULT.into()), version, script: json!([]) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        if let Some(settings) = &self.settings {
            fs::write(self.path("settings.json"), settings).unwrap();
        }
        fs::write(self.path("script.json"), self.script.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_owl-stub-agent"));
        command.args(words).current_dir(self.path("work")).env_clear().stdin(Stdio::null());
        command.env("PATH", "/usr/bin:/bin").env("CLAUDE_CONFIG_DIR", self.home.path());
        command.env("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat-stub").env("STUB_AGENT_VERSION", self.version);
        command.env("STUB_AGENT_SCRIPT", self.path("script.json")).env("STUB_AGENT_RECORD", self.path("record.jsonl"));
        command.output().unwrap()
    }

    fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(97), "{output:?}");
        assert!(output.stdout.is_empty());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    }
}

fn with_prompt<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words.iter().copied().chain(["Do it"]).collect()
}

fn events(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn print_mode_without_a_settings_file_is_refused() {
    let stub = Stub { settings: None, ..Stub::new() };
    assert!(stub.refused(&with_prompt(&GOOD)).contains("there is no settings file at"));
}

#[test]
fn a_settings_file_that_allows_nothing_or_that_the_tool_would_ignore_is_refused() {
    for nothing in
        ["{}", r#"{"permissions":{}}"#, r#"{"permissions":{"allow":[]}}"#, r#"{"permissions":{"allow":[5]}}"#]
    {
        let stub = Stub { settings: Some(nothing.into()), ..Stub::new() };
        assert!(stub.refused(&with_prompt(&GOOD)).contains("allows nothing"), "{nothing}");
    }
    let allow = r#""allow":["Edit"]"#;
    for ignored in [
        "".to_owned(),
        "{".into(),
        format!("{{\"permissions\":{{{allow}}},}}"),
        format!("// mine\n{{\"permissions\":{{{allow}}}}}"),
        "[]".into(),
        r#"{"permissions":null}"#.into(),
        format!(r#"{{"permissions":{{{allow},"deny":"x"}}}}"#),
        format!(r#"{{"permissions":{{{allow},"defaultMode":"yolo"}}}}"#),
        format!(r#"{{"permissions":{{{allow}}},"model":5}}"#),
    ] {
        let stub = Stub { settings: Some(ignored.clone()), ..Stub::new() };
        assert!(stub.refused(&with_prompt(&GOOD)).contains("the tool would ignore"), "{ignored}");
    }
}

#[test]
fn prompts_that_are_left_on_are_refused() {
    let stub = Stub::new();
    let on = ["--print", "--verbose", "--output-format", "stream-json", "--", "Do it"];
    assert!(stub.refused(&on).contains("prompts are on"));
    let other = ["--print", "--permission-mode", "acceptEdits", "--", "Do it"];
    assert!(stub.refused(&other).contains("prompts are on"));
}

#[test]
fn every_flag_that_skips_permissions_is_refused() {
    let stub = Stub::new();
    for skip in [
        &["--dangerously-skip-permissions"] as &[&str],
        &["--allow-dangerously-skip-permissions"],
        &["--permission-mode", "bypassPermissions"],
        &["--settings", r#"{"permissions":{"defaultMode":"bypassPermissions"}}"#],
        &["--permission-prompt-tool", "mcp__x__y"],
    ] {
        let words: Vec<&str> =
            ["--print", "--permission-prompts", "none"].iter().chain(skip).copied().chain(["--", "Do it"]).collect();
        assert!(stub.refused(&words).contains("skips permissions"), "{skip:?}");
    }
}

#[test]
fn a_prompt_that_is_missing_or_not_behind_the_dashes_is_refused() {
    let stub = Stub::new();
    assert!(stub.refused(&GOOD).contains("no prompt"));
    let before = stub.run(&["--print", "Do it"]);
    assert_ne!(before.status.code(), Some(0));
}

#[test]
fn version_and_help_are_not_checked_and_say_what_the_version_knows() {
    let stub = Stub { settings: None, ..Stub::new() };
    let old = Stub { settings: None, version: "2.1.197", ..Stub::new() };
    assert_eq!(stub.run(&["--version"]).stdout, b"2.1.332 (Claude Code)\n");
    assert_eq!(old.run(&["--version"]).stdout, b"2.1.197 (Claude Code)\n");
    let lists = |stub: &Stub| String::from_utf8(stub.run(&["--help"]).stdout).unwrap().contains("--permission-prompts");
    assert!(lists(&stub) && !lists(&old));
    let unknown = old.run(&with_prompt(&GOOD));
    assert_eq!((unknown.status.code(), unknown.stdout.len()), (Some(1), 0));
    assert_eq!(unknown.stderr, b"error: unknown option '--permission-prompts'\n");
}

#[test]
fn a_call_that_no_rule_allows_is_denied_and_the_end_is_still_a_success() {
    let script = json!([{"steps": [
        {"call": {"tool": "Bash", "input": {"command": "curl http://x"}}},
        {"call": {"tool": "Write", "input": {"file_path": "a.txt", "content": "x"}}},
    ]}]);
    for (version, events_per_denial) in [("2.1.332", 1), ("2.1.197", 0)] {
        let stub = Stub { version, script: script.clone(), ..Stub::new() };
        let form: Vec<&str> = if events_per_denial == 1 {
            GOOD.to_vec()
        } else {
            ["--print", "--verbose", "--output-format", "stream-json", "--permission-mode", "dontAsk", "--"].to_vec()
        };
        let output = stub.run(&with_prompt(&form));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let events = events(&output);
        let of =
            |kind: &str, subtype: &str| events.iter().filter(|e| e["type"] == kind && e["subtype"] == subtype).count();
        assert_eq!((of("system", "init"), of("system", "permission_denied")), (1, events_per_denial));
        let result = events.last().unwrap();
        assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(false)));
        let denials = result["permission_denials"].as_array().unwrap();
        assert_eq!(denials.len(), 1);
        assert_eq!(
            (&denials[0]["tool_name"], &denials[0]["tool_input"]["command"]),
            (&json!("Bash"), &json!("curl http://x"))
        );
        assert_eq!(fs::read_to_string(stub.path("work/a.txt")).unwrap(), "x", "the next call still runs");
    }
}

#[test]
fn without_a_credential_it_fails_as_the_tool_does() {
    let stub = Stub::new();
    fs::write(stub.path("settings.json"), DEFAULT).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_owl-stub-agent"));
    command
        .args(with_prompt(&GOOD))
        .current_dir(stub.path("work"))
        .env_clear()
        .env("CLAUDE_CONFIG_DIR", stub.home.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let events = events(&output);
    let result = events.last().unwrap();
    assert_eq!((&result["is_error"], &result["subtype"]), (&json!(true), &json!("success")));
}

#[test]
fn what_it_was_started_with_is_recorded_without_foreign_values() {
    let stub = Stub::new();
    let rules = ["--allowedTools", "Bash(curl -a, b:*)", "Bash(just:*)"];
    let words: Vec<&str> = GOOD[..8].iter().chain(&rules).copied().chain(["--", "-x\nline \"two\""]).collect();
    assert_eq!(stub.run(&words).status.code(), Some(0));
    let record: Value = serde_json::from_str(&fs::read_to_string(stub.path("record.jsonl")).unwrap()).unwrap();
    assert_eq!(record["allowed_tools"], json!(["Bash(curl -a, b:*)", "Bash(just:*)"]));
    assert_eq!(record["prompt"], json!("-x\nline \"two\""));
    assert_eq!(record["set"]["CLAUDE_CODE_OAUTH_TOKEN"], json!("sk-ant-oat-stub"));
    assert!(record["set"].get("PATH").is_none());
    assert!(record["names"].as_array().unwrap().contains(&json!("PATH")));
}
