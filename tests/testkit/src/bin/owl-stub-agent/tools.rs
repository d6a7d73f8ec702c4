//! Does what a call that passed asks for.

use crate::{COMMAND, ENDS};
use serde_json::Value;
use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::Ordering,
};

/// Runs a call; says what it printed, and whether it failed.
pub(crate) fn run(tool: &str, input: &Value) -> (String, bool) {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    let done = match tool {
        "Bash" => return command(text("command")),
        "Write" => write(text("file_path"), text("content")),
        "NotebookEdit" => write(text("notebook_path"), text("new_source")),
        "Edit" => edit(text("file_path"), text("old_string"), text("new_string")),
        "Read" => fs::read_to_string(text("file_path")),
        _ => Ok("done".into()),
    };
    match done {
        Ok(said) => (said, false),
        Err(error) => (error.to_string(), true),
    }
}

fn write(path: &str, content: &str) -> std::io::Result<String> {
    if let Some(above) = Path::new(path).parent() {
        fs::create_dir_all(above)?;
    }
    fs::write(path, content)?;
    Ok(format!("File created successfully at: {path}"))
}

fn edit(path: &str, old: &str, new: &str) -> std::io::Result<String> {
    let before = fs::read_to_string(path)?;
    fs::write(path, before.replacen(old, new, 1))?;
    Ok(format!("The file {path} has been updated."))
}

/// Each command runs in a session of its own, and without the Account's token, as the tool does it.
fn command(line: &str) -> (String, bool) {
    let in_session = Path::new("/usr/bin/setsid").exists();
    let mut command = Command::new(if in_session { "/usr/bin/setsid" } else { "/bin/sh" });
    if in_session {
        command.arg("/bin/sh");
    }
    command.args(["-c", line]).env_remove("CLAUDE_CODE_OAUTH_TOKEN").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir(env::current_dir().unwrap());
    let child = command.spawn().unwrap();
    COMMAND.store(child.id().cast_signed(), Ordering::SeqCst);
    let output = child.wait_with_output().unwrap();
    COMMAND.store(0, Ordering::SeqCst);
    while ENDS.load(Ordering::SeqCst) {
        std::thread::park();
    }
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).trim_end().to_owned();
    match output.status.code() {
        Some(0) => (printed, false),
        Some(code) => (format!("Exit code {code}\n{printed}"), true),
        None => (format!("Command was killed\n{printed}"), true),
    }
}

/// Starts a child in a session of its own that outlives a SIGTERM, and returns its process id.
#[expect(clippy::zombie_processes, reason = "that it is left behind is what tests look at")]
pub(crate) fn child() -> u32 {
    let mut command = Command::new("/usr/bin/setsid");
    command.args(["/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // Once it has said so, it ignores SIGTERM.
    let mut ready = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut ready).unwrap();
    child.id()
}
