//! `policy.*`.

use super::Api;
use crate::{
    error::{self, RpcError},
    params::{Reason, invalid},
    table::{NoParams, Table},
    wire::{Explained, Policy, PolicyOption, PolicyRow},
};
use owl_domain::{
    gate::{self, Rule},
    judge::JudgeError,
    limits,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExplainParams {
    /// The line, at most 64 KiB.
    command: String,
    /// Where it would run: a Project's root or one of its worktrees.
    workdir: String,
}

pub(super) fn add(table: &mut Table, api: &Arc<Api>) {
    table.answer("policy.list", "Returns the whole gate, as data and as the same table in text.", |_, NoParams {}| {
        Ok(Policy { rows: gate::rows().iter().map(row).collect(), text: gate::render() })
    });

    let at = api.clone();
    let summary = "Says what the gate decides about a line; runs and stores nothing.";
    table.read("policy.explain", summary, &[&error::WORKDIR_INVALID], move |_, given: ExplainParams| {
        let api = at.clone();
        async move {
            if given.command.len() > limits::EXPLAIN_BYTES {
                let expected = format!("at most {} bytes", limits::EXPLAIN_BYTES);
                return Err(invalid("command", Reason::Length, expected));
            }
            let workdir = api.projects.workdir(&given.workdir).await?;
            match api.judge.propose(&given.command, &workdir).await {
                Ok(shown) => Ok(Explained::new(workdir.path(), Ok(&shown))),
                Err(JudgeError::Denied(denial)) => Ok(Explained::new(workdir.path(), Err(&denial))),
                Err(JudgeError::Store(error)) => Err(RpcError::from(error)),
            }
        }
    });
}

fn row(rule: &Rule) -> PolicyRow {
    let texts = |texts: &[&str]| texts.iter().map(|text| String::from(*text)).collect();
    PolicyRow {
        program: rule.program.name().to_owned(),
        verb: rule.verb.map(|verb| verb.name().to_owned()),
        covers: rule.covers(),
        adds: rule.adds().map(String::from).collect(),
        options: rule
            .options()
            .map(|option| PolicyOption {
                names: texts(option.names()),
                value: option.value().map(|value| value.name().to_owned()),
                values: option.value().and_then(gate::Value::choices).map(texts),
            })
            .collect(),
        operands: rule.operands.name().to_owned(),
        because: rule.because.to_owned(),
        allows: texts(rule.allows),
        denies: texts(rule.denies),
    }
}
