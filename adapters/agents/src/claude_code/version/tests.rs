use super::*;
use tempfile::TempDir;

/// A program that answers as it is told, in a directory of its own.
fn tool(version: &str, help: &str) -> (TempDir, PathBuf) {
    let home = TempDir::new().unwrap();
    let path = home.path().join(NAME);
    let script =
        format!("#!/bin/sh\necho asked >> \"${{0%/*}}/asked\"\ncase $1 in --version) {version};; *) {help};; esac\n");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (home, path)
}

fn environment(path: &Path, home: &Path) -> Environment {
    Environment::of([("PATH".into(), path.into()), ("HOME".into(), home.into())])
}

async fn asked(version: &str, help: &str) -> Result<Tool, String> {
    let (_home, path) = tool(version, help);
    let spawner = Spawner::new();
    let environment = environment(Path::new("/usr/bin:/bin"), Path::new("/nonexistent"));
    let stamp = find(Some(&path), &environment).unwrap();
    ask(&spawner, &environment, &stamp).await.map_err(|error| {
        let ToolError::Version { program, reason } = error else { panic!("{error:?}") };
        assert_eq!(program, path.display().to_string());
        reason
    })
}

const NEW: &str = "echo '  --permission-prompts <target>'; echo '  --permission-mode <mode> (\"dontAsk\")'";
const OLD: &str = "echo '  --permission-mode <mode> (choices: \"acceptEdits\", \"dontAsk\")'";

#[tokio::test]
async fn the_form_is_chosen_by_what_the_version_lists() {
    let new = asked("echo '2.1.332 (Claude Code)'", NEW).await.unwrap();
    assert_eq!((new.version.as_str(), new.prompts_off), ("2.1.332", PromptsOff::Flag));
    let old = asked("echo '2.1.197 (Claude Code)'", OLD).await.unwrap();
    assert_eq!((old.version.as_str(), old.prompts_off), ("2.1.197", PromptsOff::Mode));
}

#[tokio::test]
async fn what_is_no_claude_code_or_knows_neither_form_is_refused_naming_what_was_found() {
    assert_eq!(
        asked("echo 'claude 9'", NEW).await.unwrap_err(),
        "`--version` prints `claude 9`, so it is no Claude Code"
    );
    for printed in ["1.2 (Claude Code)", "1.2.3.4 (Claude Code)", "x.y.z (Claude Code)", "2.1.332"] {
        assert!(asked(&format!("echo '{printed}'"), NEW).await.unwrap_err().contains("no Claude Code"), "{printed}");
    }
    let neither = asked("echo '1.0.0 (Claude Code)'", "echo '--permission-mode <mode> (\"plan\")'").await.unwrap_err();
    assert!(neither.starts_with("version 1.0.0 knows neither"), "{neither}");
    assert_eq!(
        asked("echo broken >&2; exit 3", NEW).await.unwrap_err(),
        "`--version` exits with 3 and prints `broken`"
    );
}

#[test]
fn the_tool_is_the_configured_one_else_the_first_in_path_else_the_users_own() {
    let (_first, first) = tool("true", "true");
    let (_second, second) = tool("true", "true");
    let home = TempDir::new().unwrap();
    let own = home.path().join(".local/bin");
    fs::create_dir_all(&own).unwrap();
    fs::copy(&first, own.join(NAME)).unwrap();
    let above = |file: &Path| file.parent().unwrap().to_owned();
    let both = std::env::join_paths([Path::new("relative"), &above(&first), &above(&second)]).unwrap();
    let environment_of = |path: &Path| environment(path, home.path());
    assert_eq!(find(Some(&second), &environment_of(Path::new(&both))).unwrap().path, second);
    assert_eq!(find(None, &environment_of(Path::new(&both))).unwrap().path, first);
    assert_eq!(find(None, &environment_of(Path::new("/nonexistent"))).unwrap().path, own.join(NAME));
    fs::remove_file(own.join(NAME)).unwrap();
    let missing = find(None, &environment_of(Path::new("/nonexistent"))).unwrap_err().to_string();
    assert!(missing.contains("/nonexistent") && missing.contains("~/.local/bin"), "{missing}");
    let gone = find(Some(Path::new("/nonexistent/claude")), &environment_of(Path::new(&both))).unwrap_err();
    assert!(gone.to_string().contains("`claudePath` is /nonexistent/claude"), "{gone}");
}
