//! The real Claude Code through the built daemon, offline, when `OWL_TEST_CLAUDE` names its binary, or several separated by
//! colons (ADR-0035, D23). The tool is what users have: only where it finds its service is a test's.
#![expect(clippy::print_stderr, reason = "what is skipped is said aloud")]

use super::bench::{Bench, DEFAULT_LIST};
use crate::support::owl;
use owl_testkit::{Block, Home, MessagesApi, SmallDisk};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Returns the real tools; says aloud when there is none.
fn tools() -> Vec<PathBuf> {
    let named = std::env::var_os("OWL_TEST_CLAUDE").unwrap_or_default();
    let tools: Vec<PathBuf> = std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect();
    if tools.is_empty() {
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        eprintln!("SKIPPED: {test} (OWL_TEST_CLAUDE names no tool)");
    }
    tools
}

/// A program that starts the tool with its service on loopback: no Agent has that from the daemon's environment.
fn offline(tool: &Path, api: &MessagesApi, directory: &TempDir) -> PathBuf {
    let program = directory.path().join("claude");
    let variables = format!("ANTHROPIC_BASE_URL={} CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", api.url());
    fs::write(&program, format!("#!/bin/sh\n{variables} exec '{}' \"$@\"\n", tool.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn call(tool: &str, input: Value) -> Block {
    Block::Call { tool: tool.into(), input }
}

fn bash(line: &str) -> Block {
    call("Bash", json!({ "command": line, "description": "a command" }))
}

/// Finds the results of calls in a log, by the ids that the service gave the calls.
fn failed(log: &[Value], id: &str) -> bool {
    let lines = log.iter().filter(|line| line["type"] == "user");
    let mut blocks = lines.flat_map(|line| line["message"]["content"].as_array().into_iter().flatten());
    let block = blocks.find(|block| block["tool_use_id"] == id).unwrap_or_else(|| panic!("{id} has no result"));
    block["is_error"] == true
}

#[tokio::test]
async fn on_a_fresh_account_it_edits_runs_git_and_is_denied_curl_with_the_line_to_add() {
    for tool in tools() {
        let api = MessagesApi::start(vec![vec![
            call("Write", json!({ "file_path": "new.txt", "content": "new\n" })),
            bash("git status"),
            bash("curl http://127.0.0.1:9/"),
        ]]);
        let directory = TempDir::new().unwrap();
        let program = offline(&tool, &api, &directory);
        let mut bench = Bench::with_tool(&program, "allowedTools: [\"Bash(just:*)\"]\n", &[]).await;
        let (job, run) = bench.ran("Write new.txt").await;
        let log = bench.log(&run).await;
        assert_eq!((&job["state"], &run["outcome"]), (&json!("review"), &json!("review")), "{run}\n{log:?}");
        assert_eq!(job["diff"]["files"][0]["path"], "new.txt");
        assert_eq!([0, 1, 2].map(|at| failed(&log, &format!("toolu_0_{at}"))), [false, false, true]);

        let rules: Value = serde_json::from_str(DEFAULT_LIST).unwrap();
        let permissions = &run["permissions"];
        assert_eq!(permissions["account"]["allow"], rules["permissions"]["allow"]);
        assert_eq!(permissions["account"]["seeded"], true);
        assert_eq!(permissions["project"]["allowed_tools"], json!(["Bash(just:*)"]));
        assert_eq!(permissions["reported"]["mcp_servers"], json!([]));
        assert!(permissions["reported"]["tools"].as_array().unwrap().contains(&json!("Bash")));
        let denials = run["denials"].as_array().unwrap();
        assert_eq!(denials.len(), 1, "{denials:?}");
        assert_eq!((&denials[0]["tool"], &denials[0]["rule_to_add"]), (&json!("Bash"), &json!("Bash(curl:*)")));

        let shown = bench.shown(&job).await;
        for rule in rules["permissions"]["allow"].as_array().unwrap() {
            let line = format!("    allow  {}", rule.as_str().unwrap());
            assert!(shown.lines().any(|shown| shown == line), "{rule} is missing in\n{shown}");
        }
        for told in ["Bash(just:*)", "Bash(curl:*)"] {
            assert!(shown.contains(told), "{told} is missing in\n{shown}");
        }
        assert_eq!(fs::read_to_string(bench.settings()).unwrap(), DEFAULT_LIST, "neither wrote into the file");
    }
}

#[tokio::test]
async fn with_a_users_own_file_it_may_do_what_stands_there_and_the_file_stays() {
    for tool in tools() {
        let api = MessagesApi::start(vec![vec![
            call("Write", json!({ "file_path": "new.txt", "content": "new\n" })),
            bash("git status"),
        ]]);
        let directory = TempDir::new().unwrap();
        let mut bench = Bench::with_tool(&offline(&tool, &api, &directory), "", &[]).await;
        let own = "{ \"permissions\": {\"allow\": [\"Write\"]} }";
        fs::write(bench.settings(), own).unwrap();
        #[cfg(target_os = "linux")]
        let watched = super::untouched::Watched::begin(&bench.settings());
        let (job, run) = bench.ran("Write new.txt").await;
        assert_eq!(job["state"], "review", "{run}");
        #[cfg(target_os = "linux")]
        assert_eq!(watched.heard(), [], "nobody opened it for writing");
        assert_eq!(run["permissions"]["account"]["allow"], json!(["Write"]));
        assert_eq!(fs::read_to_string(bench.settings()).unwrap(), own);
    }
}

#[tokio::test]
async fn what_it_writes_for_itself_into_the_worktree_gains_the_next_run_nothing() {
    for tool in tools() {
        let rules = json!({ "permissions": { "allow": ["Bash(touch:*)"] } }).to_string();
        let api = MessagesApi::start(vec![
            vec![call(
                "Write",
                json!({ "file_path": "Makefile", "content": format!("x:\n\t@mkdir -p .claude && echo '{rules}' > .claude/settings.local.json\n") }),
            )],
            vec![bash("make x")],
            vec![bash("touch gained.txt")],
        ]);
        let directory = TempDir::new().unwrap();
        let mut bench = Bench::with_tool(&offline(&tool, &api, &directory), "", &[]).await;
        let (job, run) = bench.ran("Help yourself").await;
        let worktree = Path::new(job["worktree"].as_str().unwrap());
        assert!(worktree.join(".claude/settings.local.json").exists(), "{run}");
        let (_, run) = bench.again(&job).await;
        let denied: Vec<&Value> = run["denials"].as_array().unwrap().iter().map(|one| &one["rule_to_add"]).collect();
        assert!(denied.contains(&&json!("Bash(touch:*)")), "{run}");
        assert!(!worktree.join("gained.txt").exists());
    }
}

#[tokio::test]
async fn eight_at_once_on_a_fresh_account_all_edit_under_the_one_list_that_was_seeded() {
    for tool in tools() {
        let write = call("Write", json!({ "file_path": "new.txt", "content": "new\n" }));
        let api = MessagesApi::start(vec![vec![write, bash("git status")]]);
        let directory = TempDir::new().unwrap();
        let mut bench = Bench::with_tool(&offline(&tool, &api, &directory), "", &[]).await;
        let mut started = Vec::new();
        for number in 1..=8 {
            let job = bench.add(&format!("Job {number}")).await;
            started.push((bench.start(&job).await, job));
        }
        let mut seeded = 0;
        for (run, job) in started {
            let (job, run) = bench.finished(&job, &run).await;
            assert_eq!((&job["state"], &run["denials"]), (&json!("review"), &json!([])), "{run}");
            seeded += usize::from(run["permissions"]["account"]["seeded"] == true);
        }
        assert_eq!(seeded, 1);
        assert_eq!(fs::read_to_string(bench.settings()).unwrap(), DEFAULT_LIST);
    }
}

#[tokio::test]
async fn what_stands_in_the_way_of_its_list_is_told_before_it_starts_and_it_works_once_that_is_gone() {
    for tool in tools() {
        let api = MessagesApi::start(vec![vec![call("Write", json!({ "file_path": "new.txt", "content": "new\n" }))]]);
        let directory = TempDir::new().unwrap();
        let program = offline(&tool, &api, &directory);
        let home = Home::new();
        // Room for what the tool keeps of its own.
        let disk = SmallDisk::prepare(owl(), &home, "data/coding-owl/accounts", 32).await;
        let start = disk.as_ref().map_or(owl(), |disk| &disk.program);
        let mut bench = Bench::in_home(home, start, &program, "", &[]).await;
        let pid = bench.daemon.pid();
        let settings = disk.as_ref().map_or(bench.settings(), |disk| disk.seen(pid, &bench.settings()));
        let job = bench.add("Write new.txt").await;
        let refused = async |bench: &mut Bench| {
            let refused = bench.client.err("jobs.start", json!({ "job_id": job })).await;
            refused["data"]["reason"].as_str().unwrap().to_owned()
        };
        std::os::unix::fs::symlink(directory.path().join("nothing"), &settings).unwrap();
        assert_eq!(refused(&mut bench).await, "settings_unreadable");
        assert!(!directory.path().join("nothing").exists());
        fs::remove_file(&settings).unwrap();
        fs::write(&settings, "{\"permissions\":").unwrap();
        assert_eq!(refused(&mut bench).await, "settings_unreadable");
        assert_eq!(fs::read_to_string(&settings).unwrap(), "{\"permissions\":");
        fs::remove_file(&settings).unwrap();
        if let Some(disk) = &disk {
            disk.fill(pid);
            assert_eq!(refused(&mut bench).await, "settings_unwritable");
            assert_eq!(fs::read_dir(settings.parent().unwrap()).unwrap().count(), 0);
            disk.empty(pid);
        }
        assert!(api.requests().is_empty(), "the tool was not started");
        let run = bench.start(&job).await;
        let (job, run) = bench.finished(&job, &run).await;
        assert_eq!(
            (&job["state"], &run["permissions"]["account"]["seeded"]),
            (&json!("review"), &json!(true)),
            "{run}"
        );
        assert_eq!(fs::read_to_string(&settings).unwrap(), DEFAULT_LIST);
    }
}
