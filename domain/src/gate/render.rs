//! The table as text: what people and models read. A golden file holds it, so that widening it is a visible act.

use super::{
    policy::POLICY,
    rule::{Group, Operands, Opt, Rule, Stands, Takes, Value},
};
use alloc::{format, string::String, vec::Vec};

/// Where a line is broken.
const WIDTH: usize = 120;

const HEAD: &str = "\
One command a call, by bare name. There is no shell: no pipe, redirection, variable or expansion; quote as a shell would
read it. Paths are relative to the workdir and stay inside; .git is no part of it. Names of options are written whole:
--NAME=VALUE with the value attached, --NAME VALUE either way; [=VALUE] and [VALUE] may be left out. What stands behind
Owl is added by Owl.
";

/// Returns the whole table as text, at most 120 characters a line.
#[must_use]
pub fn render() -> String {
    let mut text = String::from(HEAD);
    for rule in POLICY {
        text.push('\n');
        row(&mut text, rule);
    }
    for group in shared_groups() {
        text.push('\n');
        let holders: Vec<String> =
            POLICY.iter().filter(|rule| rule.options.contains(group)).map(Rule::covers).collect();
        text.extend(["<", group.name, "> of ", &holders.join(", "), "\n"]);
        wrapped(&mut text, "        ", options(group));
    }
    text
}

/// Returns each group that several rows hold, once.
fn shared_groups() -> Vec<&'static Group> {
    let mut groups: Vec<&Group> = Vec::new();
    for group in POLICY.iter().flat_map(|rule| rule.options).filter(|group| !group.name.is_empty()) {
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

fn row(text: &mut String, rule: &Rule) {
    text.push_str(&rule.covers());
    if rule.operands != Operands::Nothing {
        text.push(' ');
        text.push_str(rule.operands.name());
    }
    text.push('\n');
    wrapped(text, "  why   ", [rule.because.into()]);
    wrapped(text, "  Owl   ", rule.adds().map(String::from));
    let shared = rule.options.iter().filter(|group| !group.name.is_empty()).map(|group| format!("<{}>", group.name));
    let own = rule.options.iter().filter(|group| group.name.is_empty()).flat_map(options);
    let number = rule.number().map(|name| format!("-5 for {name}5"));
    wrapped(text, "  takes ", shared.chain(own).chain(number));
    if let Some(never) = &rule.never {
        wrapped(text, "  never ", [format!("{} with {}: {}", never.one.join("|"), never.with.join("|"), never.why)]);
    }
}

fn options(group: &'static Group) -> impl Iterator<Item = String> {
    group.options.iter().filter(|opt| opt.stands != Stands::OwlsOwn).map(option)
}

fn option(opt: &Opt) -> String {
    let names = opt.names().join("|");
    let value = |value: Value| match value.choices() {
        Some(words) => words.join(","),
        None => format!("<{}>", value.name()),
    };
    match opt.takes() {
        Takes::Nothing => names,
        Takes::Attached(kind) => format!("{names}={}", value(kind)),
        Takes::Maybe(kind) => format!("{names}[={}]", value(kind)),
        Takes::Next(kind) => format!("{names} {}", value(kind)),
        Takes::NextOrHead(kind) => format!("{names} [{}]", value(kind)),
    }
}

/// Writes items with two blanks between, behind a label, broken where they do not fit; nothing when there are none.
fn wrapped(text: &mut String, label: &str, items: impl IntoIterator<Item = String>) {
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
    if !is_empty {
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests;
