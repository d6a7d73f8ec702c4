//! A Job from being added to being accepted or dropped.

use super::bench::{Bench, bash, write};
use serde_json::{Value, json};
use std::path::Path;

#[tokio::test]
async fn a_job_is_added_started_watched_shown_and_accepted() {
    let mut bench = Bench::new().await;
    bench.script(json!([
        { "say": "I look around." },
        write("src/new.rs", "fn main() {}\n"),
        bash("git add src/new.rs && git -c user.name=A -c user.email=a@example.org commit -q -m 'add new.rs'"),
    ]));
    let mut watcher = bench.daemon.connect().await;
    watcher.ok("events.subscribe", json!({ "types": ["job.changed", "run.changed"] })).await;
    watcher.event_of("stream.live").await;
    let before = bench.repo.git(["rev-parse", "main"]);

    let added = bench.owl(&["jobs", "add", "--project", "app", "Add new.rs"]).await;
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    assert!(added.stdout.contains("j_1 is added"), "{}", added.stdout);
    let started = bench.owl(&["jobs", "start", "j_1"]).await;
    assert_eq!(started.code, Some(0), "{}", started.stderr);
    assert!(started.stdout.contains("owl logs r_1 -f"), "{}", started.stdout);
    let followed = bench.owl(&["logs", "r_1", "-f"]).await;
    assert_eq!(followed.code, Some(0), "{}", followed.stderr);
    assert!(followed.stdout.contains("I look around."), "{}", followed.stdout);

    let (job, run) = bench.finished("j_1", "r_1").await;
    assert_eq!(
        (&job["state"], &job["branch"], &run["outcome"]),
        (&json!("review"), &json!("owl/job-1"), &json!("review"))
    );
    assert_eq!(job["changes"], json!({ "files": 1, "insertions": 1, "deletions": 0, "commits": 1 }));
    assert_eq!(job["base_commit"], json!(before));
    let worktree = Path::new(job["worktree"].as_str().unwrap());
    assert_eq!(worktree, bench.data().canonicalize().unwrap().join("worktrees/j_1"));
    assert!(job["diff"]["text"].as_str().unwrap().contains("+fn main() {}"));
    assert_eq!(job["diff"]["files"], json!([{ "path": "src/new.rs", "status": "A", "insertions": 1, "deletions": 0 }]));

    let accepted = bench.owl(&["jobs", "accept", "j_1"]).await;
    assert!(accepted.stdout.contains("git merge owl/job-1"), "{}", accepted.stdout);
    assert!(!worktree.exists());
    assert_eq!(bench.repo.git(["rev-parse", "main"]), before, "nothing was merged");
    assert_eq!(bench.repo.git(["show", "owl/job-1:src/new.rs"]), "fn main() {}");
    assert_eq!(bench.repo.git(["worktree", "list"]).lines().count(), 1);

    let mut told = Vec::new();
    while told.last().is_none_or(|last: &(Value, Value)| last.1 != "done") {
        let event = watcher.event().await;
        told.push((
            event["type"].clone(),
            [&event["job"]["state"], &event["run"]["state"]].into_iter().find(|s| s.is_string()).unwrap().clone(),
        ));
    }
    told.dedup();
    let expected = [
        ("job.changed", "pending"),
        ("job.changed", "active"),
        ("run.changed", "running"),
        ("job.changed", "active"),
        ("run.changed", "verifying"),
        ("job.changed", "review"),
        ("run.changed", "finished"),
        ("job.changed", "done"),
    ];
    assert_eq!(told, expected.map(|(name, state)| (json!(name), json!(state))));
}

#[tokio::test]
async fn work_that_would_be_lost_is_dropped_only_with_discard() {
    let mut bench = Bench::new().await;
    // A repository that hides untracked files hides them from its own status, not from Owl.
    bench.repo.git(["config", "status.showUntrackedFiles", "no"]);
    bench.script(json!([write("untracked.txt", "work\n")]));
    let (job, _) = bench.ran("Write something").await;
    assert_eq!(job["state"], "review");
    let id = job["id"].as_str().unwrap();
    let refused = bench.client.err("jobs.drop", json!({ "job_id": id })).await;
    assert_eq!(refused["data"]["kind"], "work_would_be_lost");
    assert_eq!((&refused["data"]["files"], &refused["data"]["commits"]), (&json!(1), &json!(0)));
    let worktree = Path::new(job["worktree"].as_str().unwrap());
    assert!(worktree.join("untracked.txt").exists());

    let refused = bench.owl(&["jobs", "drop", id]).await;
    assert_eq!(refused.code, Some(1));
    let dropped = bench.owl(&["jobs", "drop", id, "--discard"]).await;
    assert!(dropped.stdout.contains("(1 file, 0 commits discarded)"), "{} {}", dropped.stdout, dropped.stderr);
    assert!(!worktree.exists());
    assert_eq!(bench.repo.git(["branch", "--list", "owl/job-1"]), "");
    let job = bench.client.ok("jobs.get", json!({ "job_id": id })).await;
    assert_eq!((&job["state"], &job["worktree"]), (&json!("cancelled"), &Value::Null));
}

#[tokio::test]
async fn accepting_keeps_a_worktree_with_uncommitted_work() {
    let mut bench = Bench::new().await;
    bench.script(json!([write("loose.txt", "work\n")]));
    let (job, _) = bench.ran("Write something").await;
    let accepted = bench.client.ok("jobs.accept", json!({ "job_id": job["id"] })).await;
    assert_eq!((&accepted["state"], &accepted["worktree_kept"]), (&json!("done"), &json!(true)));
    assert_eq!(accepted["kept_because"], "1 files there are in no commit");
    assert!(Path::new(job["worktree"].as_str().unwrap()).join("loose.txt").exists());
    let refused = bench.client.err("jobs.cancel", json!({ "job_id": job["id"] })).await;
    assert_eq!(refused["data"]["kind"], "wrong_state");
    assert_eq!(refused["data"]["allowed_from"], json!(["pending", "active", "blocked", "review", "cancelled"]));
}

#[tokio::test]
async fn accepting_keeps_commits_that_are_not_on_the_jobs_branch_and_says_where_they_are() {
    let commit = |name: &str| format!("git -c user.name=A -c user.email=a@example.org commit -q -m {name}");
    let cases = [
        ("git checkout -q --detach", "look there before you merge owl/job-1", "1 commits there are not on owl/job-1"),
        ("git branch -m other", "owl/job-1 does not hold its work", "is gone, and other is checked out there"),
    ];
    for (leave, said, why) in cases {
        let mut bench = Bench::with("allowedTools: ['Bash(git:*)']\n", &[]).await;
        bench.script(json!([write("a.txt", "a\n"), bash(&format!("{leave} && git add a.txt && {}", commit("a")))]));
        let (job, _) = bench.ran("Write something").await;
        assert_eq!((&job["state"], &job["changes"]["commits"]), (&json!("review"), &json!(1)), "{job}");
        let accepted = bench.owl(&["jobs", "accept", "j_1"]).await;
        assert!(accepted.stdout.contains(said) && accepted.stdout.contains(why), "{}", accepted.stdout);
        assert!(!accepted.stdout.contains("git merge"), "{}", accepted.stdout);
        let worktree = Path::new(job["worktree"].as_str().unwrap());
        assert!(worktree.join("a.txt").exists(), "{leave}");
    }
}

#[tokio::test]
async fn what_is_in_the_way_is_named_and_not_touched_and_another_job_starts() {
    let mut bench = Bench::new().await;
    bench.repo.git(["branch", "owl/job-1"]);
    let tip = bench.repo.git(["rev-parse", "owl/job-1"]);
    let first = bench.add("One").await;
    let refused = bench.client.err("jobs.start", json!({ "job_id": first })).await;
    assert_eq!((&refused["data"]["kind"], &refused["data"]["reason"]), (&json!("cannot_start"), &json!("worktree")));
    assert!(refused["message"].as_str().unwrap().contains("the branch `owl/job-1`"), "{refused}");
    let job = bench.client.ok("jobs.get", json!({ "job_id": first })).await;
    assert_eq!((&job["state"], &job["runs"]), (&json!("pending"), &json!([])));
    assert_eq!(bench.repo.git(["rev-parse", "owl/job-1"]), tip);

    bench.script(json!([write("a.txt", "a\n")]));
    let (second, _) = bench.ran("Two").await;
    assert_eq!((&second["id"], &second["state"]), (&json!("j_2"), &json!("review")));
}

#[tokio::test]
async fn an_account_must_be_there_when_a_job_is_made_and_when_it_is_started() {
    let mut bench = Bench::new().await;
    let ask = json!({ "project": "app", "prompt": "Do it", "account": "nobody" });
    let unknown = bench.client.err("jobs.create", ask).await;
    assert_eq!((&unknown["data"]["kind"], &unknown["data"]["what"]), (&json!("not_found"), &json!("account")));
    assert!(unknown["message"].as_str().unwrap().contains("owl account add nobody"), "{unknown}");
    bench.client.ok("accounts.add", json!({ "name": "second" })).await;
    let several = bench.client.err("jobs.create", json!({ "project": "app", "prompt": "Do it" })).await;
    assert_eq!((&several["data"]["kind"], &several["data"]["field"]), (&json!("invalid_params"), &json!("account")));

    let ask = json!({ "project": "app", "prompt": "Do it", "account": "second" });
    let job = bench.client.ok("jobs.create", ask).await;
    let needed = bench.client.err("accounts.remove", json!({ "account": "second" })).await;
    assert_eq!((&needed["data"]["kind"], &needed["data"]["by"]), (&json!("in_use"), &json!([job["id"]])));
    let needed = bench.client.err("projects.remove", json!({ "project": "app" })).await;
    assert_eq!((&needed["data"]["kind"], &needed["data"]["by"]), (&json!("in_use"), &json!([job["id"]])));
}

#[tokio::test]
async fn no_job_has_permissions_of_its_own() {
    let mut bench = Bench::new().await;
    for name in ["allowed_tools", "allowedTools", "permissions", "permission_mode", "dangerously_skip_permissions"] {
        let ask = json!({ "project": "app", "prompt": "Do it", name: ["Bash"] });
        let refused = bench.client.err("jobs.create", ask).await;
        assert_eq!(
            (&refused["data"]["field"], &refused["data"]["reason"]),
            (&json!(name), &json!("unknown")),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_job_that_is_sent_again_is_the_same() {
    let mut bench = Bench::new().await;
    let ask = json!({ "project": "app", "prompt": "Do it", "client_key": "k1" });
    let first = bench.client.ok("jobs.create", ask.clone()).await;
    let again = bench.client.ok("jobs.create", ask).await;
    assert_eq!((&again["id"], &again["duplicate"]), (&first["id"], &json!(true)));
    let other = json!({ "project": "app", "prompt": "Do something else", "client_key": "k1" });
    assert_eq!(bench.client.err("jobs.create", other).await["data"]["kind"], "idempotency_mismatch");
    let page = bench.client.ok("jobs.list", json!({ "project": "app", "state": "pending", "limit": 1 })).await;
    assert_eq!((page["items"].as_array().unwrap().len(), &page["next_cursor"]), (1, &Value::Null));
}

#[tokio::test]
async fn a_jobs_worktree_is_a_workdir_that_is_told_as_the_jobs() {
    let mut bench = Bench::new().await;
    bench.script(json!([write("a.txt", "a\n")]));
    let (job, _) = bench.ran("Write a").await;
    assert_eq!(job["state"], "review");
    let listed = bench.client.ok("worktrees.list", json!({ "project": "app" })).await;
    assert_eq!((&listed["items"][1]["kind"], &listed["items"][1]["job_id"]), (&json!("job"), &json!("j_1")));
    let asked = json!({ "command": "git log --oneline", "workdir": job["worktree"] });
    assert_eq!(bench.client.ok("policy.explain", asked).await["verdict"], "allowed");
    let health = bench.client.ok("system.health", json!({})).await;
    assert_eq!(health["runs_active"], 0);
    let info = bench.client.ok("system.info", json!({})).await;
    assert!(info["features"].as_array().unwrap().contains(&json!("jobs")));
}
