//! What a daemon does where the kernel lacks a guard, or has none to give: it says so, everywhere, and follows `sandbox`.

use crate::support::{World, allow, ask, command, conversation, owl, proposal};
use owl_testkit::{Daemon, Home, kernel::guards, older_kernel, repo::TempRepo};
use serde_json::{Value, json};

/// A daemon whose kernel lacks these guards, with one Project and a client.
async fn lacking(guards: &str, sandbox: &str) -> Option<World> {
    let home = Home::new();
    home.configure(&format!("apiVersion: codingowl.dev/v1\nsandbox: {sandbox}\n"));
    let program = older_kernel(owl(), &home, guards).await?;
    let repo = TempRepo::new();
    repo.commit_file("README.md", "hello\n");
    let daemon = Daemon::start(&program, &home).await;
    let mut client = daemon.connect().await;
    client.ok("projects.add", json!({ "path": repo.root(), "name": "app" })).await;
    Some(World { home, repo, daemon, client })
}

async fn system(world: &mut World) -> Value {
    world.client.ok("system.info", json!({})).await
}

/// Each guard that may be lacking, and what is left then.
const LACKING: [(&str, &str); 5] = [
    ("landlock", "gate+seccomp"),
    ("seccomp", "gate+landlock"),
    ("landlock,seccomp", "gate"),
    ("forbidden:landlock", "gate+seccomp"),
    ("forbidden:seccomp", "gate+landlock"),
];

fn names(guards: &str) -> impl Iterator<Item = &str> {
    guards.trim_start_matches("forbidden:").split(',')
}

#[tokio::test]
async fn without_a_guard_a_command_runs_under_what_there_is_and_everything_says_which() {
    // What this kernel has without being told to forget anything.
    let has = system(&mut World::new().await).await["confinement"].clone();
    let here = guards();
    let lacks = |name: &str| has["missing"].as_array().unwrap().contains(&json!(name));
    assert_eq!((lacks("landlock"), lacks("seccomp")), (!here.landlock, !here.seccomp), "{has}");
    for (guards, left) in LACKING {
        let Some(mut world) = lacking(guards, "auto").await else { return };
        let told = system(&mut world).await;
        assert_eq!(told["sandbox"], "auto");
        for guard in names(guards) {
            assert!(told["confinement"]["missing"].as_array().unwrap().contains(&json!(guard)), "{guards}: {told}");
        }
        let line = world.daemon.log().lines().find(|line| line.contains("this kernel lacks")).unwrap().to_owned();
        assert!(names(guards).all(|guard| line.contains(guard)), "{line}");
        if has["kind"] != "gate+landlock+seccomp" {
            eprintln!("SKIPPED the rest of {guards}: this kernel has {has}");
            continue;
        }
        assert_eq!(told["confinement"]["kind"], left, "{guards}");
        assert!(line.contains(&format!("commands run under {left}")), "{line}");
        let workdir = world.workdir();
        let c = conversation(&mut world.client, &workdir).await;
        ask(&mut world.client, &c, &["git log --format=%s", "cat README.md"]).await;
        let shown = [proposal(&mut world.client).await, proposal(&mut world.client).await];
        for (one, printed) in shown.iter().zip(["write README.md\n", "hello\n"]) {
            assert_eq!(one["confinement"], left, "{one}");
            allow(&mut world.client, one).await;
            let item = command(&mut world.client).await;
            assert_eq!(item["result"]["confinement"], left, "{item}");
            assert_eq!((&item["result"]["exit_code"], &item["result"]["stdout"]["head"]), (&json!(0), &json!(printed)));
        }
    }
}

#[tokio::test]
async fn where_both_guards_are_required_and_one_is_lacking_nobody_is_asked_and_nothing_runs() {
    for (guards, _) in LACKING {
        let Some(mut world) = lacking(guards, "required").await else { return };
        assert!(world.daemon.log().contains("this kernel lacks"), "{}", world.daemon.log());
        let workdir = world.workdir();
        let c = conversation(&mut world.client, &workdir).await;
        ask(&mut world.client, &c, &["cat README.md"]).await;
        let item = command(&mut world.client).await;
        assert_eq!((&item["outcome"], &item["denial"]["kind"]), (&json!("gate_denied"), &json!("sandbox")), "{item}");
        let said = item["denial"]["message"].as_str().unwrap();
        let lacks = said.strip_prefix("the configuration says `sandbox: required`, and this kernel lacks ").unwrap();
        assert!(names(guards).all(|guard| lacks.split(", ").any(|named| named == guard)), "{said}");
        assert_eq!(item["result"], Value::Null);
        assert_eq!(world.client.ok("consent.list", json!({})).await["items"], json!([]));
    }
}

#[tokio::test]
async fn switched_off_is_said_loudly_and_commands_run_by_the_gate_alone() {
    let mut world = World::configured("sandbox: \"off\"\n").await;
    let told = system(&mut world).await;
    assert_eq!((&told["sandbox"], &told["confinement"]["kind"]), (&json!("off"), &json!("gate")));
    assert!(world.daemon.log().contains("commands run without the kernel's guards"), "{}", world.daemon.log());
    let c = world.conversation().await;
    ask(&mut world.client, &c, &["cat src/a.txt"]).await;
    let shown = proposal(&mut world.client).await;
    allow(&mut world.client, &shown).await;
    assert_eq!(command(&mut world.client).await["result"]["confinement"], "gate");
}
