//! What was shown is what runs: a Proposal beside the process that came of it (D9).

use crate::{
    support::{World, allow, ask, command, proposal, run_with_input, worktree},
    work::{fifo, held, release},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

/// The words of a list that ends each with a NUL.
fn words(path: &str) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    text.strip_suffix('\0').unwrap_or(&text).split('\0').map(str::to_owned).collect()
}

/// The strings that the digest is made over, as the contract writes them.
fn digested(proposal: &Value) -> String {
    let command = &proposal["command"];
    let list = |value: &Value| -> Vec<String> {
        let entries = value.as_array().unwrap().iter();
        entries.map(|entry| entry.as_str().map_or_else(|| entry.to_string(), str::to_owned)).collect()
    };
    let (argv, added) = (list(&command["argv"]), list(&command["added"]));
    let mut env: Vec<String> = command["env"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
        .collect();
    env.sort();
    let mut strings = vec!["owl-proposal-1".to_owned()];
    strings.extend([&command["program"], &proposal["workdir"]].map(|word| word.as_str().unwrap().to_owned()));
    for list in [argv, added, env] {
        strings.push(list.len().to_string());
        strings.extend(list);
    }
    strings.iter().map(|string| format!("{}:{string},", string.len())).collect()
}

#[tokio::test]
async fn the_process_has_the_program_words_environment_and_directory_that_were_shown() {
    let mut world = World::new().await;
    world.repo.commit_file("a b/\u{fc}.txt", "x\n");
    let linked = worktree(&world.repo, "linked");
    let fifo = fifo(&world.repo);
    std::fs::create_dir_all(linked.join("src")).unwrap();
    let other = linked.join("src/.gitignore");
    nix::unistd::mkfifo(&other, nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
    let root = world.repo.root().to_owned();
    let cases: [(&str, &Path, &Path); 4] = [
        ("git status", &root, &fifo),
        ("git status --short --branch src", &root, &fifo),
        ("git status -- \"a b/\u{fc}.txt\" src", &root, &fifo),
        ("git status --short", &linked, &other),
    ];
    for (line, workdir, fifo) in cases {
        let made = world.client.ok("conversations.create", json!({ "workdir": workdir })).await;
        let c = made["id"].as_str().unwrap().to_owned();
        world.client.ok("conversations.update", json!({ "conversation_id": c, "model": crate::support::demo() })).await;
        let watching = world.client.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": 0 })).await;
        ask(&mut world.client, &c, &[line]).await;
        let shown = proposal(&mut world.client).await;
        assert_eq!(shown["state"], "pending", "{line}");
        let sum = run_with_input("/usr/bin/sha256sum", &[], &world.home, &digested(&shown)).await;
        let digest = format!("sha256:{}", sum.stdout.split_whitespace().next().unwrap());
        assert_eq!(shown["digest"], digest, "{line}");

        allow(&mut world.client, &shown).await;
        let started = world.client.event_of("command.started").await;
        let proc = held(&started).await;
        let shown_command = &shown["command"];
        assert_eq!(json!(std::fs::read_link(format!("{proc}/exe")).unwrap()), shown_command["program"], "{line}");
        assert_eq!(json!(words(&format!("{proc}/cmdline"))), shown_command["argv"], "{line}");
        let environment: BTreeMap<String, String> = words(&format!("{proc}/environ"))
            .iter()
            .map(|word| word.split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(json!(environment), shown_command["env"], "{line}");
        assert_eq!(json!(std::fs::read_link(format!("{proc}/cwd")).unwrap()), shown["workdir"], "{line}");
        assert_eq!(std::fs::read_link(format!("{proc}/fd/0")).unwrap(), Path::new("/dev/null"));
        let status = std::fs::read_to_string(format!("{proc}/status")).unwrap();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
        assert_eq!(field("PPid:"), world.daemon.pid().to_string(), "{line}");
        assert_eq!(field("NoNewPrivs:"), "1");
        if shown["confinement"].as_str().unwrap().contains("seccomp") {
            assert_eq!(field("Seccomp:"), "2");
        }
        for (told, shown) in [("argv", &shown_command["argv"]), ("program", &shown_command["program"])] {
            assert_eq!(started[told], *shown, "{line}");
        }
        assert_eq!((&started["workdir"], &started["confinement"]), (&shown["workdir"], &shown["confinement"]));
        release(fifo).await;
        let item = command(&mut world.client).await;
        assert_eq!((&item["outcome"], &item["command"]), (&json!("ran"), shown_command), "{line}");
        assert_eq!(item["result"]["confinement"], shown["confinement"]);
        world.client.event_of("turn.finished").await;
        world.client.ok("chat.unsubscribe", json!({ "subscription": watching })).await;
    }
}
