//! What is packaged for service managers starts the daemon, and names no secret.

use crate::support::{owl, run, source};
use owl_testkit::Home;
use std::fs;

fn packaged(name: &str) -> String {
    fs::read_to_string(source("packaging").join(name)).unwrap()
}

/// What a line-based unit sets, by its key.
fn set<'u>(unit: &'u str, key: &str) -> Vec<&'u str> {
    unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect()
}

#[test]
fn the_systemd_unit_starts_the_daemon_waits_until_it_is_ready_and_names_no_key() {
    let unit = packaged("owl.service");
    assert_eq!(set(&unit, "ExecStart"), ["%h/.cargo/bin/owl daemon run"]);
    assert_eq!(set(&unit, "Type"), ["notify"]);
    assert_eq!(set(&unit, "UMask"), ["0077"]);
    assert!(!unit.lines().any(|line| line.starts_with("Environment") || line.starts_with("LoadCredential")));
}

#[test]
fn the_launchd_agent_starts_the_daemon_and_names_no_key() {
    let agent = packaged("dev.codingowl.owl.plist");
    let (_, arguments) = agent.split_once("<key>ProgramArguments</key>").unwrap();
    let (arguments, _) = arguments.split_once("</array>").unwrap();
    let words = arguments.split("<string>").skip(1).map(|word| word.split_once("</string>").unwrap().0);
    assert_eq!(words.collect::<Vec<_>>(), ["/usr/local/bin/owl", "daemon", "run"]);
    assert!(!agent.contains("EnvironmentVariables"));
}

#[tokio::test]
async fn the_units_pass_their_own_checkers() {
    let home = Home::new();
    // The checker wants the program to be there, which is where this one was built.
    let unit = packaged("owl.service").replace("%h/.cargo/bin/owl", owl().to_str().unwrap());
    fs::create_dir(home.path().join("run")).unwrap();
    fs::write(home.path().join("owl.service"), unit).unwrap();
    fs::write(home.path().join("owl.plist"), packaged("dev.codingowl.owl.plist")).unwrap();
    for (checker, line) in [
        ("systemd-analyze", "systemd-analyze verify --user --man=no"),
        ("plutil", "plutil -lint"),
        ("xmllint", "xmllint --noout --nonet"),
    ] {
        if run("sh", &["-c", &format!("command -v {checker}")], &home).await.code != Some(0) {
            eprintln!("SKIPPED: {checker} is not here");
            continue;
        }
        let file = home.path().join(if checker == "systemd-analyze" { "owl.service" } else { "owl.plist" });
        let checked = run("sh", &["-c", &format!("{line} '{}'", file.display())], &home).await;
        assert_eq!((checked.code, checked.stderr.as_str()), (Some(0), ""), "{checker}: {}", checked.stdout);
    }
}
