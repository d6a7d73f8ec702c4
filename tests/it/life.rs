//! The daemon's life: validated before it listens, one per data directory, private from birth.

use crate::support::{owl, run};
use owl_testkit::{Daemon, Home};
use serde_json::json;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

#[tokio::test]
async fn a_broken_configuration_is_refused_naming_it_and_no_socket_is_made() {
    let home = Home::new();
    home.configure("apiVersion: codingowl.dev/v1\nsandbx: auto\n");
    let daemon = run(owl(), &["daemon", "run"], &home).await;
    assert_eq!(daemon.code, Some(1));
    assert!(daemon.stderr.contains("config.yaml:2:1: `sandbx`: unknown field"), "{}", daemon.stderr);
    assert!(!home.socket().exists());
}

#[tokio::test]
async fn a_database_that_is_none_is_refused_naming_it_and_kept() {
    let home = Home::new();
    std::fs::create_dir_all(home.database().parent().unwrap()).unwrap();
    std::fs::write(home.database(), "this is no database, but long enough to be taken for one by its size").unwrap();
    let daemon = run(owl(), &["daemon", "run"], &home).await;
    assert_eq!(daemon.code, Some(1));
    assert!(daemon.stderr.contains("owl.db"), "{}", daemon.stderr);
    assert!(!home.socket().exists());
    assert!(std::fs::read_to_string(home.database()).unwrap().starts_with("this is no database"));
}

#[tokio::test]
async fn a_second_daemon_is_refused_and_the_first_lives() {
    let home = Home::new();
    let daemon = Daemon::start(owl(), &home).await;
    let second = run(owl(), &["daemon", "run"], &home).await;
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains(&daemon.pid().to_string()), "{}", second.stderr);
    daemon.connect().await.ok("system.health", json!({})).await;
}

#[tokio::test]
async fn a_leftover_socket_is_replaced_and_a_plain_file_is_kept() {
    let home = Home::new();
    Daemon::start(owl(), &home).await.kill().await;
    assert!(home.socket().exists(), "a killed daemon leaves its socket");
    Daemon::start(owl(), &home).await.terminate().await;
    std::fs::write(home.socket(), "mine").unwrap();
    let refused = run(owl(), &["daemon", "run"], &home).await;
    assert_eq!(refused.code, Some(1));
    assert_eq!(std::fs::read_to_string(home.socket()).unwrap(), "mine");
}

#[tokio::test]
async fn every_file_lies_where_it_should_and_is_private() {
    let home = Home::new();
    std::fs::create_dir_all(home.path().join("run/coding-owl")).unwrap();
    std::fs::set_permissions(home.path().join("run/coding-owl"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let _daemon = Daemon::start(owl(), &home).await;
    let mode = |path: &str| std::fs::metadata(home.path().join(path)).unwrap().mode() & 0o777;
    for directory in ["run/coding-owl", "data/coding-owl", "state/coding-owl", "state/coding-owl/logs"] {
        assert_eq!(mode(directory), 0o700, "{directory}");
    }
    for file in ["run/coding-owl/owl.sock", "data/coding-owl/owl.db"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
}

#[tokio::test]
async fn a_socket_path_that_is_too_long_is_named_with_its_limit_by_both_sides() {
    let home = Home::new();
    let long = home.path().join("x".repeat(120)).join("owl.sock");
    let mut environment = home.environment();
    environment.push(("OWL_SOCKET", long.clone()));
    for args in [["daemon", "run"], ["daemon", "status"]] {
        let refused = owl_testkit::run(owl().as_ref(), &args, &environment, "").await;
        assert_ne!(refused.code, Some(0));
        assert!(refused.stderr.contains("107") && refused.stderr.contains("bytes"), "{args:?}: {}", refused.stderr);
        assert_ne!(refused.code, Some(3), "this is not a daemon that does not run");
    }
}

#[tokio::test]
async fn what_is_told_of_the_daemon_is_whole() {
    let home = Home::new();
    let daemon = Daemon::start(owl(), &home).await;
    let mut client = daemon.connect().await;
    let info = client.ok("system.info", json!({})).await;
    assert_eq!(
        (&info["name"], &info["api"], &info["pid"]),
        (&json!("coding-owl"), &json!("1.0"), &json!(daemon.pid()))
    );
    assert_eq!(info["paths"]["socket"], json!(home.socket()));
    assert_eq!(info["limits"]["consent_window_ms"], 3_600_000);
    let health = client.ok("system.health", json!({})).await;
    assert_eq!((&health["ok"], &health["database"]), (&json!(true), &json!("ok")));
    let document = client.ok("rpc.discover", json!({})).await;
    assert_eq!(document["openrpc"], "1.3.2");
}
