//! The direction domain <- adapters <- src, as Cargo sees it. Tests of the tree itself, not of the daemon.

use crate::support::source;
use std::collections::BTreeSet;

/// What each crate may depend on of Owl's own, and for the domain of anything.
const ALLOWED: [(&str, &[&str]); 9] = [
    ("owl-rpc", &["owl-domain"]),
    ("owl-sqlite", &["owl-domain"]),
    ("owl-providers", &["owl-domain"]),
    ("owl-secrets", &["owl-domain"]),
    ("owl-files", &["owl-domain"]),
    ("owl-process", &["owl-domain"]),
    // The one exception: these two start programs through the one crate that may.
    ("owl-git", &["owl-domain", "owl-process"]),
    ("owl-agents", &["owl-domain", "owl-process"]),
    ("owl-domain", &["async-trait", "secrecy", "sha2", "thiserror", "unicode-general-category"]),
];

async fn dependencies(package: &str) -> BTreeSet<String> {
    let manifest = source("Cargo.toml");
    let args = [
        "tree",
        "--package",
        package,
        "--edges",
        "normal",
        "--depth",
        "1",
        "--prefix",
        "none",
        "--offline",
        "--locked",
        "--manifest-path",
        manifest.to_str().unwrap(),
    ];
    let mut environment = Vec::new();
    for name in ["HOME", "PATH", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        if let Some(value) = std::env::var_os(name) {
            environment.push((name, value.into()));
        }
    }
    let tree = owl_testkit::run(env!("CARGO").as_ref(), &args, &environment, "").await;
    assert_eq!(tree.code, Some(0), "{}", tree.stderr);
    tree.stdout.lines().skip(1).filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[tokio::test]
async fn no_crate_depends_on_what_lies_outside_of_it() {
    for (package, allowed) in ALLOWED {
        let found = dependencies(package).await;
        let ours = |name: &&String| package == "owl-domain" || name.starts_with("owl-");
        let found: BTreeSet<&str> = found.iter().filter(ours).map(String::as_str).collect();
        assert_eq!(found, allowed.iter().copied().collect(), "{package}");
    }
}

#[test]
fn every_file_of_scenarios_is_listed_in_main() {
    let main = std::fs::read_to_string(source("tests/it/main.rs")).unwrap();
    for entry in std::fs::read_dir(source("tests/it")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(module == "main" || main.contains(&format!("mod {module};")), "{name} is not listed");
    }
}

/// What stands between backticks in tests/scenarios.md and names a test: its file and its name.
fn named_tests(scenarios: &str) -> Vec<(&str, &str)> {
    let quoted = scenarios.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.filter_map(|quoted| quoted.split_once(".rs::").map(|(_, name)| (quoted, name))).collect()
}

#[test]
fn every_test_that_scenarios_names_exists() {
    let scenarios = std::fs::read_to_string(source("tests/scenarios.md")).unwrap();
    let named = named_tests(&scenarios);
    assert!(named.len() > 200, "only {} tests are named", named.len());
    let missing = named.into_iter().filter(|(test, name)| {
        let file = test.split("::").next().unwrap();
        let text = std::fs::read_to_string(source(file)).unwrap_or_default();
        !text.contains(&format!("fn {name}("))
    });
    assert_eq!(missing.map(|(test, _)| test).collect::<Vec<_>>(), Vec::<&str>::new());
}
