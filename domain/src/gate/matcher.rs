//! Words and a row of the table become a typed command, or a refusal: each option with its value, each operand as a
//! path, a revision or text (ADR-0022, D11). Looks nothing up; it tells what has to be.

use super::{
    DenialKind, Program, Verb,
    hint::{Refusal, Suggestion, tick},
    inject::{self, Arg, By},
    operands::{Operand, Operands as Found},
    place::AsWritten,
    policy::POLICY,
    rule::{Never, Opt, Rule, Stands, Takes, Value},
    unfit, unknown,
    value::{self, Wrong},
    words::Word,
};
use crate::{ports::Look, text::AbsPath};
use alloc::{format, string::String, vec, vec::Vec};
use core::iter::Peekable;

/// A typed command: every word of it is from the row, or a value or operand that was checked as written.
#[derive(Debug)]
pub(super) struct Matched {
    pub(super) rule: &'static Rule,
    /// In the order given, Owl's first and last.
    pub(super) options: Vec<Given>,
    /// What grep looks for, when it is an operand.
    pub(super) pattern: Option<String>,
    pub(super) operands: Vec<Operand>,
    /// What has to be looked up; operands refer to it.
    pub(super) looks: Vec<Look>,
    /// Whether all below the paths is read or listed.
    pub(super) recurses: bool,
}

/// An option as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) opt: &'static Opt,
    pub(super) name: &'static str,
    pub(super) value: Option<String>,
    pub(super) by: By,
}

impl Given {
    /// Says whether this is how the option is spelled in the rebuilt line.
    pub(super) fn is_spelled(&self, word: &str) -> bool {
        let Some(rest) = word.strip_prefix(self.name) else { return false };
        match &self.value {
            None => rest.is_empty(),
            Some(value) if is_long(self.name) => rest.strip_prefix('=') == Some(value),
            Some(value) => rest == value,
        }
    }

    /// Spells it: one word, its value attached.
    pub(super) fn spelled(&self) -> String {
        match &self.value {
            None => self.name.into(),
            Some(value) if is_long(self.name) => [self.name, "=", value].concat(),
            Some(value) => [self.name, value].concat(),
        }
    }
}

/// The first refusal in the order of kinds; within one kind the leftmost word's.
#[derive(Debug, Default)]
pub(super) struct First(Option<Refusal>);

impl First {
    pub(super) fn note(&mut self, refusal: Refusal) {
        if self.0.as_ref().is_none_or(|first| refusal.denial.kind < first.denial.kind) {
            self.0 = Some(refusal);
        }
    }

    pub(super) fn verdict(self) -> Result<(), Refusal> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Finds the row for a line's words and matches them against it. `workdir` is only for hints.
pub(super) fn typed(words: Vec<Word>, workdir: Option<&AbsPath>) -> Result<Matched, Refusal> {
    let name = words.first().map_or("", |word| word.text.as_str());
    let program = Program::from_name(name).ok_or_else(|| unknown::program(&words))?;
    let (verb, first) = match program {
        Program::Git => {
            // Owl puts this one there itself.
            let pagers = words.iter().skip(1).take_while(|word| word.text == "--no-pager").count();
            let verb = words.get(1 + pagers).and_then(|word| Verb::from_name(&word.text));
            (Some(verb.ok_or_else(|| unknown::verb(&words, 1 + pagers, workdir))?), 2 + pagers)
        }
        Program::Cat | Program::Grep | Program::Head | Program::Ls | Program::Tail | Program::Wc => (None, 1),
    };
    let Some(rule) = POLICY.iter().find(|rule| rule.program == program && rule.verb == verb) else {
        return Err(Refusal::about(DenialKind::Program, name, format!("{} has no row in the table", tick(name))));
    };
    let mut matcher = Matcher {
        rule,
        workdir,
        first: First::default(),
        options: Vec::with_capacity(8),
        found: Vec::new(),
        values: Vec::new(),
        is_parted: false,
    };
    matcher.options(inject::owls_words(rule, words, first));
    matcher.finish()
}

/// Checks one word that Owl adds because of what was found: it passes the row like any other.
pub(super) fn owls_option(rule: &'static Rule, word: String) -> Result<Given, Refusal> {
    let mut matcher = Matcher {
        rule,
        workdir: None,
        first: First::default(),
        options: Vec::new(),
        found: Vec::new(),
        values: Vec::new(),
        is_parted: false,
    };
    let not_in_row = format!("{} is not in the row of {}", tick(&word), rule.covers());
    let refusal = Refusal::about(DenialKind::Option, &word, not_in_row);
    matcher.options(vec![Arg { word: Word::plain(&word), by: By::Owl }]);
    matcher.first.verdict()?;
    matcher.options.pop().ok_or(refusal)
}

struct Matcher<'w> {
    rule: &'static Rule,
    workdir: Option<&'w AbsPath>,
    first: First,
    options: Vec<Given>,
    found: Vec<Operand>,
    /// Paths inside values.
    values: Vec<Operand>,
    /// Whether the line holds `--`.
    is_parted: bool,
}

type Args = Peekable<alloc::vec::IntoIter<Arg>>;

impl Matcher<'_> {
    fn options(&mut self, args: Vec<Arg>) {
        let mut args = args.into_iter().peekable();
        while let Some(arg) = args.next() {
            let text = arg.word.text.as_str();
            if self.is_parted || text == "-" || !text.starts_with('-') {
                self.found.push(Operand::new(arg, self.is_parted));
            } else if text == "--" {
                self.is_parted = true;
            } else if text.starts_with("--") {
                self.long(&arg, &mut args);
            } else {
                self.letters(&arg, &mut args);
            }
        }
    }

    fn finish(self) -> Result<Matched, Refusal> {
        let Self { rule, workdir, first, options, found, values, is_parted } = self;
        let recurses = find(&options, &["--recursive"]).is_some();
        let has_pattern = find(&options, &["-e"]).is_some() && rule.program == Program::Grep;
        let sorted = Vec::with_capacity(found.len());
        let mut operands =
            Found { rule, workdir, first, is_parted, operands: sorted, looks: Vec::new(), pattern: None };
        operands.class(found, values, recurses, has_pattern);
        let Found { first, operands, looks, pattern, .. } = operands;
        first.verdict()?;
        Ok(Matched { rule, options, pattern, operands, looks, recurses })
    }

    /// Takes a word that begins with two hyphens.
    fn long(&mut self, arg: &Arg, args: &mut Args) {
        let text = arg.word.text.as_str();
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let Some((opt, name)) = self.rule.option(name) else {
            return self.first.note(unfit::option(self.rule, text, name, position_of(arg.by)));
        };
        match (opt.takes, value) {
            (Takes::Nothing, Some(_)) => {
                let message = format!("`{name}` takes no value");
                self.first.note(
                    Refusal::about(DenialKind::OptionValue, text, message).suggest(vec![Suggestion::replaced(
                        "",
                        position_of(arg.by),
                        1,
                        vec![name.into()],
                    )]),
                );
            }
            (Takes::Nothing | Takes::Maybe(_), None) => self.give(opt, name, None, arg),
            (Takes::Attached(_), None) if opt.stands == Stands::OwlsOwn => {
                // ls takes the next word for the pattern; what is to be ignored of submodules is never the next word.
                let is_value = |next: &&Arg| names_what_is_left_out(opt) && !next.word.text.starts_with('-');
                let count = if args.peek().is_some_and(|next| is_value(&next)) { 2 } else { 1 };
                let left_out = Suggestion::replaced("leave it out", position_of(arg.by), count, Vec::new());
                self.first.note(missing(opt, name, text).suggest(vec![left_out]));
            }
            (Takes::Attached(_), None) => {
                let refusal = missing(opt, name, text);
                self.first.note(attached(refusal, [name, "="].concat(), arg, args.peek()));
            }
            (Takes::Next(value) | Takes::NextOrHead(value), None) => self.next_word(opt, name, value, arg, args),
            (Takes::Attached(kind) | Takes::Maybe(kind) | Takes::Next(kind) | Takes::NextOrHead(kind), Some(value)) => {
                self.value(opt, name, kind, value.into(), arg, &arg.word);
            }
        }
    }

    /// Takes a word of single letters, of which the last may have a value.
    fn letters(&mut self, arg: &Arg, args: &mut Args) {
        let text = arg.word.text.as_str();
        let letters = text.get(1..).unwrap_or_default();
        if let Some(number) = self.rule.number
            && letters.bytes().all(|b| b.is_ascii_digit())
            && let Some((opt, name)) = self.rule.option(number)
        {
            return self.value(opt, name, Value::Number, letters.into(), arg, &arg.word);
        }
        for (at, letter) in letters.char_indices() {
            let rest = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let mut buffer = [b'-', 0, 0, 0, 0];
            let length = buffer.get_mut(1..).map_or(0, |free| letter.encode_utf8(free).len());
            let name = buffer.get(..=length).and_then(|name| core::str::from_utf8(name).ok()).unwrap_or_default();
            let Some((opt, name)) = self.rule.option(name) else {
                return self.first.note(unfit::letter(self.rule, text, name, position_of(arg.by)));
            };
            match opt.takes {
                Takes::Nothing if rest.is_empty() || self.rule.bundles() => self.give(opt, name, None, arg),
                Takes::Nothing => return self.first.note(unfit::bundle(self.rule, text, position_of(arg.by))),
                Takes::Attached(value) | Takes::Maybe(value) | Takes::Next(value) | Takes::NextOrHead(value)
                    if !rest.is_empty() =>
                {
                    return self.value(opt, name, value, rest.into(), arg, &arg.word);
                }
                Takes::Maybe(_) => return self.give(opt, name, None, arg),
                Takes::Attached(_) => {
                    let refusal = missing(opt, name, text);
                    return self.first.note(attached(refusal, text.into(), arg, args.peek()));
                }
                Takes::Next(value) | Takes::NextOrHead(value) => return self.next_word(opt, name, value, arg, args),
            }
        }
    }

    /// Takes the next word for a value, unless Owl wrote it.
    fn next_word(&mut self, opt: &'static Opt, name: &'static str, value: Value, arg: &Arg, args: &mut Args) {
        let is_models = |next: &Arg| next.by != By::Owl;
        let may_be_taken =
            |next: &Arg| is_models(next) && (!next.word.text.starts_with('-') || value::may_begin_with_hyphen(value));
        if let Some(next) = args.next_if(may_be_taken) {
            let text = next.word.text.clone();
            return self.value(opt, name, value, text, &next, &next.word);
        }
        match (opt.takes, args.peek().filter(|next| is_models(next))) {
            (Takes::NextOrHead(_), None) => self.give(opt, name, Some("HEAD".into()), arg),
            (Takes::Nothing | Takes::Attached(_) | Takes::Maybe(_) | Takes::Next(_) | Takes::NextOrHead(_), next) => {
                let text = next.map_or(arg.word.text.as_str(), |next| next.word.text.as_str());
                let refusal = match next {
                    Some(_) => {
                        let message = format!(
                            "`{name}` takes {}, and {} begins with a hyphen",
                            value::expected(value),
                            tick(text)
                        );
                        let refusal = Refusal::about(DenialKind::OptionValue, text, message);
                        match opt.takes {
                            Takes::NextOrHead(_) => {
                                let head = [name, "=HEAD"].concat();
                                refusal.suggest(vec![Suggestion::replaced("", position_of(arg.by), 1, vec![head])])
                            }
                            Takes::Nothing | Takes::Attached(_) | Takes::Maybe(_) | Takes::Next(_) => {
                                let whole = [name, if is_long(name) { "=" } else { "" }, text].concat();
                                refusal.suggest(vec![Suggestion::replaced("", position_of(arg.by), 2, vec![whole])])
                            }
                        }
                    }
                    None => missing(opt, name, text),
                };
                self.first.note(refusal);
            }
        }
    }

    /// Checks a value and takes the option with it. `holder` is the word that the value stands in.
    fn value(&mut self, opt: &'static Opt, name: &'static str, kind: Value, text: String, arg: &Arg, holder: &Word) {
        // Nothing expands a list in braces, and a pattern for names reads none.
        if matches!(kind, Value::Glob | Value::Include) && holder.has_bare_brace_list() && arg.by != By::Owl {
            return self.first.note(unfit::braces(name, &text, &holder.text, position_of(arg.by)));
        }
        match value::check(kind, &text) {
            Ok(None) => {}
            Ok(Some(path)) => self.values.push(Operand::inside(path.into(), arg.by)),
            Err(Wrong::Path(bad @ (AsWritten::Absolute | AsWritten::Climbs | AsWritten::Git(_)))) => {
                return self.first.note(super::confine::refuse_written(&bad, &text, self.workdir, None));
            }
            Err(wrong) => {
                return self.first.note(unfit::value(opt, name, &text, &holder.text, wrong, position_of(arg.by)));
            }
        }
        self.give(opt, name, Some(text), arg);
    }

    fn give(&mut self, opt: &'static Opt, name: &'static str, value: Option<String>, arg: &Arg) {
        let name = match &value {
            // Attached to a letter an empty value would be none, and the program would take the next word for it.
            Some(value) if value.is_empty() && !is_long(name) => match opt.names.iter().find(|name| is_long(name)) {
                Some(long) => *long,
                None => {
                    let message = format!("`{name}` needs a value that is not empty");
                    return self.first.note(Refusal::about(DenialKind::OptionValue, &arg.word.text, message));
                }
            },
            Some(_) | None => name,
        };
        let given = Given { opt, name, value, by: arg.by };
        if arg.by != By::Owl {
            // An exact copy of Owl's word adds nothing; judging a rebuilt line again gives the same argv.
            if self.rule.adds.iter().chain(self.rule.adds_behind).any(|word| given.is_spelled(word)) {
                return;
            }
            if opt.stands == Stands::OwlsOwn && !names_what_is_left_out(opt) {
                return self.first.note(unfit::owls_own(self.rule, &given, &arg.word.text, position_of(arg.by)));
            }
        }
        if let Some((never, other)) = self.never_beside(opt) {
            let message = format!("`{other}` and `{}` may not stand together: {}", given.name, never.why);
            let refusal = Refusal::about(DenialKind::Option, &arg.word.text, message);
            self.first.note(refusal.say(never.instead));
        }
        if opt.stands == Stands::WithRevisions {
            self.found.push(Operand::start(given.spelled(), given.by));
        } else {
            self.options.push(given);
        }
    }

    /// Finds an option that was given already and that this one may not stand beside.
    fn never_beside(&self, opt: &Opt) -> Option<(&'static Never, &'static str)> {
        let never = self.rule.never.as_ref()?;
        let is_in = |names: &[&str]| opt.names.iter().any(|name| names.contains(name));
        let others = if is_in(never.one) {
            never.with
        } else if is_in(never.with) {
            never.one
        } else {
            return None;
        };
        let among_revisions = |name: &str| self.found.iter().any(|operand| operand.is_start(name));
        let other = find(&self.options, others).map(|other| other.name);
        let other = other.or_else(|| others.iter().copied().find(|name| among_revisions(name)))?;
        Some((never, other))
    }
}

/// Says whether the option is one that Owl adds because of what is found: whether a copy is exact is known only then.
fn names_what_is_left_out(opt: &Opt) -> bool {
    opt.value() == Some(Value::Glob)
}

/// Suggests to attach the next word, which the model meant for the value.
fn attached(refusal: Refusal, option: String, arg: &Arg, next: Option<&Arg>) -> Refusal {
    match next {
        Some(next) if next.by != By::Owl => {
            let whole = option + &next.word.text;
            refusal.suggest(vec![Suggestion::replaced("", position_of(arg.by), 2, vec![whole])])
        }
        Some(_) | None => refusal,
    }
}

fn missing(opt: &Opt, name: &str, text: &str) -> Refusal {
    let expected = opt.value().map_or("a value", value::expected);
    let how = if matches!(opt.takes, Takes::Attached(_)) { ", attached to it" } else { "" };
    Refusal::about(DenialKind::OptionValue, text, format!("`{name}` needs {expected}{how}"))
}

pub(super) fn is_long(name: &str) -> bool {
    name.starts_with("--")
}

/// Finds the first option given that has one of these names.
pub(super) fn find<'g>(options: &'g [Given], names: &[&str]) -> Option<&'g Given> {
    options.iter().find(|given| names.iter().any(|name| given.opt.names.contains(name)))
}

fn position_of(by: By) -> usize {
    match by {
        By::Model(index) => index,
        By::Owl => 0,
    }
}
