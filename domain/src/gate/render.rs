//! The table as text: what people and models read. A golden file holds it, so that widening it is a visible act.

use super::rule::{Opt, Rule, Takes};
use alloc::{format, string::String, vec::Vec};

/// Where a line is broken.
const WIDTH: usize = 120;

/// Returns the whole table as text, at most 120 characters a line.
pub fn render() -> String {
    let mut text = String::from(
        "One command a call, by bare name. No shell: no pipe, redirection, variable or expansion; quote as a shell would read it.\n\
         Paths are relative to the workdir and stay inside it; .git is no part of it. Names of options are written whole.\n\
         --NAME=VALUE is attached; --NAME VALUE may be; [=VALUE] may be left out.\n",
    );
    for rule in super::rows() {
        text.push('\n');
        row(&mut text, rule);
    }
    text
}

fn row(text: &mut String, rule: &Rule) {
    let mut head = format!("{} {}", rule.covers(), rule.operands.name());
    if rule.operands.name() == "none" {
        head = format!("{} (no operand)", rule.covers());
    }
    text.push_str(&head);
    text.push('\n');
    wrapped(text, "  why   ", core::iter::once(rule.because.into()));
    let adds: Vec<String> = rule.adds().map(String::from).collect();
    if !adds.is_empty() {
        wrapped(text, "  Owl   ", adds.into_iter());
    }
    let number = rule.number().map(|name| format!("-5 (is {name}5)"));
    wrapped(text, "  takes ", rule.options().map(option).chain(number));
    if let Some(never) = &rule.never {
        let line = format!("{} with {}: {}", never.one.join("|"), never.with.join("|"), never.why);
        wrapped(text, "  never ", core::iter::once(line));
    }
}

fn option(opt: &Opt) -> String {
    let names = opt.names().join("|");
    let value = |kind: super::rule::Value| match kind.choices() {
        Some(words) => words.join(","),
        None => format!("<{}>", kind.name()),
    };
    match opt.takes() {
        Takes::Nothing => names,
        Takes::Attached(kind) => format!("{names}={}", value(kind)),
        Takes::Maybe(kind) => format!("{names}[={}]", value(kind)),
        Takes::Next(kind) => format!("{names} {}", value(kind)),
        Takes::NextOrHead(kind) => format!("{names} [{}]", value(kind)),
    }
}

/// Writes items with two blanks between, behind a label, broken where they do not fit.
fn wrapped(text: &mut String, label: &str, items: impl Iterator<Item = String>) {
    let mut line = String::from(label);
    let mut is_empty = true;
    for item in items {
        if !is_empty && line.chars().count() + 2 + item.chars().count() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(label.len());
            is_empty = true;
        }
        if !is_empty {
            line.push_str("  ");
        }
        line.push_str(&item);
        is_empty = false;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests;
