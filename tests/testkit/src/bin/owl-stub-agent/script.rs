//! Plays a script: a JSON file that `STUB_AGENT_SCRIPT` names, a list of `{"when": TEXT, "steps": [STEP, …]}`. The first
//! whose `when` stands in the prompt is played; without `when` it is played for any prompt, and without a file nothing
//! happens but a good end. Steps, each an object with one of these keys:
//!
//! - `say` TEXT: an assistant's words. `call` `{tool, input}`, perhaps with `times` and `subagent`: decided, then done.
//! - `raw` TEXT, `raw_bytes` N, `stderr` TEXT: printed as they are. `wait_for` PATH: until that file exists.
//! - `result` TEXT: one more result line. `is_error` TEXT: the last one calls itself an error, and the exit status is 1.
//! - `exit` N, `die` SIGNAL: ends there, without a result. `no_result`: ends well without one.
//! - `ignore_term`; `child` PATH: a child in a session of its own that ignores TERM, its process id in that file.
//! - `verdict` TEXT: writes that to the file that the prompt names, as a `Write`. `retry` TEXT: a retry with that error.

use crate::{
    IGNORES_TERM,
    decide::{Decision, Judge},
    flags::Version,
    tools,
};
use serde_json::{Value, json};
use std::{
    env, fs, io::Write as _, path::Path, process::exit, str::FromStr as _, sync::atomic::Ordering, thread,
    time::Duration,
};

const SESSION: &str = "5f0a4c1e-0000-4000-8000-000000000001";
const NOT_LOGGED_IN: &str = "Not logged in · Please run /login";

pub(crate) struct Player {
    judge: Judge,
    version: Version,
    prompt: String,
    calls: u32,
    turns: u32,
    denials: Vec<Value>,
    error: Option<String>,
}

impl Player {
    pub(crate) fn new(judge: Judge, version: Version, prompt: String) -> Self {
        Self { judge, version, prompt, calls: 0, turns: 1, denials: Vec::new(), error: None }
    }

    pub(crate) fn play(mut self) -> ! {
        self.init();
        if !is_logged_in() {
            let mut said = assistant(json!([{"type": "text", "text": NOT_LOGGED_IN}]), false);
            said["error"] = json!("authentication_failed");
            emit(&said);
            self.error = Some(NOT_LOGGED_IN.into());
            self.end();
        }
        for step in steps(&self.prompt) {
            for (what, value) in step.as_object().unwrap() {
                self.step(what, value, &step);
            }
        }
        self.end()
    }

    fn step(&mut self, what: &str, value: &Value, step: &Value) {
        let text = || value.as_str().unwrap();
        match what {
            "say" => emit(&assistant(json!([{"type": "text", "text": text()}]), false)),
            "call" => {
                let subagent = step.get("subagent").is_some();
                for _ in 0..step.get("times").and_then(Value::as_u64).unwrap_or(1) {
                    self.call(value["tool"].as_str().unwrap(), &value["input"], subagent);
                }
            }
            "raw" => print(text()),
            "raw_bytes" => print(&"x".repeat(usize::try_from(value.as_u64().unwrap()).unwrap())),
            "stderr" => eprintln!("{}", text()),
            "wait_for" => {
                while !Path::new(text()).exists() {
                    thread::sleep(Duration::from_millis(5));
                }
            }
            "result" => {
                let mut result = self.result(text());
                result["origin"] = json!("subagent");
                emit(&result);
                self.denials.clear();
            }
            "is_error" => self.error = Some(text().into()),
            "exit" => exit(i32::try_from(value.as_i64().unwrap()).unwrap()),
            "die" => {
                let signal = nix::sys::signal::Signal::from_str(&format!("SIG{}", text())).unwrap();
                nix::sys::signal::raise(signal).unwrap();
            }
            "no_result" => exit(0),
            "ignore_term" => IGNORES_TERM.store(true, Ordering::SeqCst),
            "child" => fs::write(text(), tools::child().to_string()).unwrap(),
            "verdict" => {
                let ends = |word: &&str| word.ends_with("verdict.json");
                let file = self.prompt.split_whitespace().find(ends).unwrap().to_owned();
                self.call("Write", &json!({"file_path": file, "content": text()}), false);
            }
            "retry" => emit(&json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10,
                "retry_delay_ms": 500, "error_status": 401, "error": text(), "session_id": SESSION})),
            "times" | "subagent" => {}
            _ => crate::refuse(&format!("the script has no step `{what}`")),
        }
    }

    fn init(&self) {
        let source = if env::var_os("ANTHROPIC_API_KEY").is_some() { "ANTHROPIC_API_KEY" } else { "none" };
        emit(&json!({"type": "system", "subtype": "init", "cwd": env::current_dir().unwrap(), "session_id": SESSION,
            "tools": self.judge.tools(), "mcp_servers": [], "model": "stub", "permissionMode": self.judge.mode(),
            "apiKeySource": source, "claude_code_version": self.version.to_string()}));
    }

    fn call(&mut self, tool: &str, input: &Value, subagent: bool) {
        self.calls += 1;
        self.turns += 1;
        let id = format!("toolu_{:04}", self.calls);
        emit(&assistant(json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]), subagent));
        let (said, failed) = match self.judge.decide(tool, input) {
            Decision::Runs => tools::run(tool, input),
            Decision::NoSuchTool => (format!("Error: No such tool available: {tool}"), true),
            Decision::Denied(reason) => {
                self.denials.push(json!({"tool_name": tool, "tool_use_id": id, "tool_input": input}));
                let message = self.refusal(tool);
                if self.version.tells_denials() {
                    let mut event = json!({"type": "system", "subtype": "permission_denied", "tool_name": tool,
                        "tool_use_id": id, "decision_reason_type": reason, "decision_reason": "nobody can approve it",
                        "message": message, "session_id": SESSION});
                    if subagent {
                        event["agent_id"] = json!("a1");
                    }
                    emit(&event);
                }
                (message, true)
            }
        };
        let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": said});
        if failed {
            block["is_error"] = json!(true);
        }
        emit(&json!({"type": "user", "message": {"role": "user", "content": [block]},
            "parent_tool_use_id": subagent.then_some("toolu_task"), "session_id": SESSION}));
    }

    fn refusal(&self, tool: &str) -> String {
        if self.judge.mode() == "dontAsk" {
            format!("Permission to use {tool} has been denied because Claude Code is running in don't ask mode.")
        } else {
            "Permission for this tool use was denied. It requires approval, and nobody can answer here.".into()
        }
    }

    fn result(&self, text: &str) -> Value {
        json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": self.turns, "duration_ms": 1,
            "result": text, "permission_denials": self.denials, "total_cost_usd": 0.0, "usage": {}, "modelUsage": {},
            "session_id": SESSION})
    }

    fn end(&self) -> ! {
        let Some(error) = &self.error else {
            emit(&self.result("I am done."));
            exit(0)
        };
        let mut result = self.result(error);
        result["is_error"] = json!(true);
        emit(&result);
        exit(1)
    }
}

/// A token, a key, or a login that the tool itself stored.
fn is_logged_in() -> bool {
    let variables = ["CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY"];
    let stored = env::var_os("CLAUDE_CONFIG_DIR").map(|directory| Path::new(&directory).join(".credentials.json"));
    variables.iter().any(|name| env::var_os(name).is_some()) || stored.is_some_and(|file| file.exists())
}

fn steps(prompt: &str) -> Vec<Value> {
    let Some(file) = env::var_os("STUB_AGENT_SCRIPT") else { return Vec::new() };
    let text = fs::read_to_string(file).unwrap();
    let scripts: Vec<Value> = serde_json::from_str(&text).unwrap();
    let fits = |script: &&Value| script.get("when").and_then(Value::as_str).is_none_or(|when| prompt.contains(when));
    let script = scripts.iter().find(fits);
    script.map(|script| script["steps"].as_array().unwrap().clone()).unwrap_or_default()
}

fn assistant(content: Value, subagent: bool) -> Value {
    json!({"type": "assistant", "message": {"id": "msg", "type": "message", "role": "assistant", "model": "stub",
        "content": content}, "parent_tool_use_id": subagent.then_some("toolu_task"), "session_id": SESSION})
}

fn emit(event: &Value) {
    print(&event.to_string());
}

fn print(line: &str) {
    let mut stdout = std::io::stdout().lock();
    // Whoever reads has gone: then nothing is left to do.
    if stdout.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdout.flush()).is_err() {
        exit(0);
    }
}
