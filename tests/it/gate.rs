//! The gate through the daemon: what is denied asks nobody and runs nothing.

use crate::support::{World, ask, command};
use serde_json::json;

#[tokio::test]
async fn what_is_denied_asks_nobody_and_the_conversation_goes_on() {
    let mut world = World::new().await;
    std::os::unix::fs::symlink(".git/config", world.repo.root().join("settings.ini")).unwrap();
    let c = world.conversation().await;
    let lines = [
        ("rm -rf .", "program"),
        ("git push", "verb"),
        ("cat ../x", "path_outside"),
        ("cat /etc/hosts", "path_absolute"),
        ("git status ; rm x", "shell_syntax"),
        ("grep -R x .", "option"),
        ("git branch new", "operand"),
        ("cat .git/config", "path_git"),
        ("cat .GIT/config", "path_git"),
        ("cat settings.ini", "path_git"),
        ("git checkout .", "verb"),
        ("git reset --hard", "verb"),
        ("git clean -fd", "verb"),
    ];
    for (line, kind) in lines {
        ask(&mut world.client, &c, &[line]).await;
        let events = world.client.events_until("turn.finished").await;
        assert!(events.iter().all(|e| e["type"] != "proposal.created"), "{line}");
        let item = events.iter().find(|e| e["type"] == "item.completed" && e["item"]["kind"] == "command").unwrap();
        assert_eq!(
            (&item["item"]["outcome"], &item["item"]["denial"]["kind"]),
            (&json!("gate_denied"), &json!(kind)),
            "{line}"
        );
        assert_eq!(events.last().unwrap()["turn"]["stop_reason"], "end_turn");
    }
    assert_eq!(std::fs::read_to_string(world.repo.root().join("README.md")).unwrap(), "hello\nTODO: more\n");
    let audit =
        world.client.ok("commands.list", json!({ "conversation_id": c, "outcome": "gate_denied", "limit": 200 })).await;
    assert_eq!(audit["items"].as_array().unwrap().len(), lines.len());
}

#[tokio::test]
async fn explaining_says_what_a_turn_would_and_stores_nothing() {
    let mut world = World::new().await;
    let workdir = world.workdir();
    let allowed =
        world.client.ok("policy.explain", json!({ "command": "git log --oneline -n 5", "workdir": workdir })).await;
    assert_eq!(allowed["verdict"], "allowed");
    let denied = world.client.ok("policy.explain", json!({ "command": "rm -rf .", "workdir": workdir })).await;
    assert_eq!((&denied["verdict"], &denied["denial"]["kind"]), (&json!("denied"), &json!("program")));
    assert_eq!(world.client.ok("consent.list", json!({ "state": "all" })).await["items"], json!([]));

    let c = world.conversation().await;
    ask(&mut world.client, &c, &["git log --oneline -n 5"]).await;
    let shown = crate::support::proposal(&mut world.client).await;
    for (explained, proposed) in
        [("argv", "argv"), ("added", "added"), ("env", "env"), ("display", "display"), ("program", "program")]
    {
        assert_eq!(allowed[explained], shown["command"][proposed]);
    }
    assert_eq!(allowed["digest"], shown["digest"]);
}

#[tokio::test]
async fn a_directory_that_is_no_workdir_is_refused_naming_those_that_are() {
    let mut world = World::new().await;
    let known = json!([{ "path": world.workdir(), "project": "app" }]);
    for (workdir, reason) in [
        (format!("{}/src", world.workdir()), "not_known"),
        ("/".into(), "not_known"),
        ("src".into(), "not_absolute"),
        (format!("{}/nothing", world.workdir()), "gone"),
    ] {
        let error = world.client.err("policy.explain", json!({ "command": "ls", "workdir": workdir })).await;
        assert_eq!(
            (&error["data"]["kind"], &error["data"]["reason"]),
            (&json!("workdir_invalid"), &json!(reason)),
            "{workdir}"
        );
        assert_eq!(error["data"]["known"], known);
    }
}

#[tokio::test]
async fn a_command_runs_in_the_worktree_that_was_chosen() {
    let mut world = World::new().await;
    let linked = crate::support::worktree(&world.repo, "linked");
    std::fs::write(linked.join("README.md"), "changed here\n").unwrap();
    let made =
        world.client.ok("conversations.create", json!({ "workdir": linked, "model": crate::support::demo() })).await;
    let c = made["id"].as_str().unwrap().to_owned();
    world.client.ok("chat.subscribe", json!({ "conversation_id": c, "after_seq": 0 })).await;
    for (line, printed) in [("cat README.md", "changed here\n"), ("git status --short", " M README.md\n")] {
        ask(&mut world.client, &c, &[line]).await;
        let shown = crate::support::proposal(&mut world.client).await;
        crate::support::allow(&mut world.client, &shown).await;
        let item = command(&mut world.client).await;
        assert_eq!(item["result"]["stdout"]["head"], printed, "{line}: {item}");
        world.client.event_of("turn.finished").await;
    }
}

#[tokio::test]
async fn a_repository_that_holds_owls_own_directories_is_not_registered() {
    let mut world = World::new().await;
    let home = world.home.path().to_owned();
    owl_testkit::repo::Git::at(&home).init();
    owl_testkit::repo::Git::at(&home).run(["commit", "-q", "--allow-empty", "-m", "first"]);
    let error = world.client.err("projects.add", json!({ "path": home, "name": "home" })).await;
    assert_eq!(error["data"]["kind"], "not_a_repository");
    assert!(error["message"].as_str().unwrap().contains("where keys are kept"), "{error}");
}
