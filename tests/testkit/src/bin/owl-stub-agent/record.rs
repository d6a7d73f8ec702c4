//! What the stub was started with, for tests to read: one JSON line a start, in the file that `STUB_AGENT_RECORD` names.

use crate::flags::Flags;
use nix::unistd::{getpgrp, getpid, getsid};
use serde_json::{Map, json};
use std::{env, fs::OpenOptions, io::Write as _};

/// The variables that Owl sets; of all others only the names are told.
const SET_BY_OWL: [&str; 6] = [
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD",
    "DISABLE_AUTOUPDATER",
    "OWL_RUN_ID",
    "OWL_RUN_HOME",
];

pub(crate) fn write(flags: &Flags) {
    let Some(file) = env::var_os("STUB_AGENT_RECORD") else { return };
    let mut names: Vec<String> = env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    let set = SET_BY_OWL.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?.into())));
    let cwd = env::current_dir().unwrap();
    let mut entries: Vec<String> =
        cwd.read_dir().unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    entries.sort_unstable();
    let record = json!({
        "argv": env::args().collect::<Vec<_>>(),
        "pid": getpid().as_raw(),
        "group": getpgrp().as_raw(),
        "session": getsid(None).unwrap().as_raw(),
        "cwd": cwd,
        "entries": entries,
        "names": names,
        "set": set.collect::<Map<_, _>>(),
        "allowed_tools": flags.allowed_tools,
        "prompt": flags.prompt,
    });
    let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
    file.write_all(format!("{record}\n").as_bytes()).unwrap();
}
