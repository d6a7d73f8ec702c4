//! What to write instead. A hint that holds a whole line sends that line through the gate first: what is suggested is
//! never refused as written (D11).

use super::{Denial, DenialKind, words};
use crate::{show, text::AbsPath};
use alloc::{borrow::Cow, boxed::Box, format, string::String, vec::Vec};

/// A denial, and how a line could be put right. The hint is written last, for the line as a whole.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) denial: Denial,
    fix: Option<Box<Fix>>,
}

/// How a line could be put right.
#[derive(Debug)]
enum Fix {
    /// In words.
    Say(Cow<'static, str>),
    /// By other lines, of which the first that passes is suggested; else in words.
    Lines(Vec<Suggestion>, Option<Cow<'static, str>>),
}

/// A line to write instead, and the words that lead to it.
#[derive(Debug)]
pub(super) struct Suggestion {
    lead: Cow<'static, str>,
    line: Draft,
}

/// A line that is not yet known to pass.
#[derive(Debug)]
enum Draft {
    /// As it is.
    Line(String),
    /// The refused line with other words in place of some.
    Replaced { at: usize, count: usize, with: Vec<String>, unless: &'static [&'static str], if_last: bool },
    /// The refused line with a `--` before this word, and whatever must not follow one before that.
    Parted(usize),
    /// The refused line with the word at `at` before the one at `first`, and a `--` between them.
    PutFirst { at: usize, first: usize },
    /// The refused line with words at a place in it, and words behind it.
    Around { at: usize, with: Vec<String>, behind: Vec<String> },
}

impl Refusal {
    pub(super) fn about(kind: DenialKind, argument: &str, message: String) -> Self {
        Self { denial: Denial::about(kind, argument, message), fix: None }
    }

    pub(super) fn whole(kind: DenialKind, message: impl Into<String>) -> Self {
        Self { denial: Denial::whole(kind, message), fix: None }
    }

    pub(super) fn say(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.fix = Some(Box::new(Fix::Say(hint.into())));
        self
    }

    /// Suggests the first of these lines that passes, else nothing.
    pub(super) fn suggest(mut self, suggestions: Vec<Suggestion>) -> Self {
        self.fix = Some(Box::new(Fix::Lines(suggestions, None)));
        self
    }

    /// Suggests the first of these lines that passes, else says something.
    pub(super) fn suggest_or_say(mut self, suggestions: Vec<Suggestion>, hint: impl Into<Cow<'static, str>>) -> Self {
        self.fix = Some(Box::new(Fix::Lines(suggestions, Some(hint.into()))));
        self
    }

    /// Suggests the first of these lines that passes, else says what there is to say.
    pub(super) fn suggest_or(self, suggestions: Vec<Suggestion>, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => self.suggest_or_say(suggestions, hint),
            None => self.suggest(suggestions),
        }
    }

    /// Writes the hint for the line that was refused.
    pub(super) fn into_denial(self, line: &str) -> Denial {
        let hint = match self.fix.map(|fix| *fix) {
            None => None,
            Some(Fix::Say(hint)) => Some(hint),
            Some(Fix::Lines(suggestions, otherwise)) => {
                suggestions.into_iter().find_map(|suggestion| suggestion.write(line)).map(Cow::Owned).or(otherwise)
            }
        };
        Denial { hint: hint.map(Cow::into_owned), ..self.denial }
    }
}

impl Suggestion {
    /// Suggests a line as it is.
    pub(super) fn line(lead: impl Into<Cow<'static, str>>, line: impl Into<String>) -> Self {
        Self { lead: lead.into(), line: Draft::Line(line.into()) }
    }

    /// Suggests a line of these words.
    pub(super) fn words<'w>(lead: impl Into<Cow<'static, str>>, words: impl IntoIterator<Item = &'w str>) -> Self {
        Self::line(lead, join(words))
    }

    /// Suggests the refused line with these words in place of `count` from `at` on.
    pub(super) fn replaced(lead: impl Into<Cow<'static, str>>, at: usize, count: usize, with: Vec<String>) -> Self {
        Self { lead: lead.into(), line: Draft::Replaced { at, count, with, unless: &[], if_last: false } }
    }

    /// Suggests it only where no other word begins with one of these.
    pub(super) fn unless(mut self, beginnings: &'static [&'static str]) -> Self {
        match &mut self.line {
            Draft::Replaced { unless, .. } => *unless = beginnings,
            Draft::Line(_) | Draft::Parted(_) | Draft::PutFirst { .. } | Draft::Around { .. } => {}
        }
        self
    }

    /// Suggests it only where no operand follows, which may be a value of what is left out.
    pub(super) fn if_last(mut self) -> Self {
        match &mut self.line {
            Draft::Replaced { if_last, .. } => *if_last = true,
            Draft::Line(_) | Draft::Parted(_) | Draft::PutFirst { .. } | Draft::Around { .. } => {}
        }
        self
    }

    /// Suggests it with other words that lead to it.
    pub(super) fn led(self, lead: &'static str) -> Self {
        Self { lead: lead.into(), ..self }
    }

    /// Suggests the refused line with a `--` before this word.
    pub(super) fn parted(lead: impl Into<Cow<'static, str>>, at: usize) -> Self {
        Self { lead: lead.into(), line: Draft::Parted(at) }
    }

    /// Suggests the refused line with the word at `at` before the one at `first`, and a `--` between them.
    pub(super) fn put_first(lead: impl Into<Cow<'static, str>>, at: usize, first: usize) -> Self {
        Self { lead: lead.into(), line: Draft::PutFirst { at, first } }
    }

    /// Suggests the refused line with these words behind it.
    pub(super) fn appended(lead: impl Into<Cow<'static, str>>, words: Vec<String>) -> Self {
        Self::around(lead, 0, Vec::new(), words)
    }

    /// Suggests the refused line with words at a place in it, and words behind it.
    pub(super) fn around(
        lead: impl Into<Cow<'static, str>>,
        at: usize,
        with: Vec<String>,
        behind: Vec<String>,
    ) -> Self {
        Self { lead: lead.into(), line: Draft::Around { at, with, behind } }
    }

    fn write(self, refused: &str) -> Option<String> {
        let line = match self.line {
            Draft::Line(line) => line,
            Draft::Parted(at) => {
                let words = words::read(refused).ok()?;
                let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
                let (before, rest) = texts.split_at_checked(at)?;
                let (word, later) = rest.split_first()?;
                // Behind `--` an option would be a path.
                match later.first() {
                    Some(option) if option.starts_with('-') => join([before, later, &["--", *word]].concat()),
                    _ if later.iter().any(|word| word.starts_with('-')) => return None,
                    _ => join([before, &["--"], rest].concat()),
                }
            }
            Draft::PutFirst { at, first } => {
                let words = words::read(refused).ok()?;
                let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
                let (before, rest) = texts.split_at_checked(first)?;
                let (paths, word) = rest.split_at_checked(at.checked_sub(first)?)?;
                let (word, later) = word.split_first()?;
                if paths.iter().chain(later).any(|word| word.starts_with('-')) {
                    return None;
                }
                join([before, &[*word, "--"], paths, later].concat())
            }
            Draft::Around { at, with, behind } => {
                let words = words::read(refused).ok()?;
                let (first, rest) = words.split_at_checked(at)?;
                let text = |word: &'_ words::Word| word.text.clone();
                let line = first.iter().map(text).chain(with).chain(rest.iter().map(text)).chain(behind);
                join(line.collect::<Vec<_>>().iter().map(String::as_str))
            }
            Draft::Replaced { at, count, with, unless, if_last } => {
                let words = words::read(refused).ok()?;
                if if_last && words.get(at + count).is_some_and(|next| !next.text.starts_with('-')) {
                    return None;
                }
                if words.iter().any(|word| unless.iter().any(|beginning| word.text.starts_with(beginning))) {
                    return None;
                }
                let before = words.iter().take(at).map(|word| word.text.as_str());
                let behind = words.iter().skip(at + count).map(|word| word.text.as_str());
                join(before.chain(with.iter().map(String::as_str)).chain(behind))
            }
        };
        // A line that has to be escaped for people could not be sent as it is shown.
        if !show::is_visible(&line) || line.contains('`') {
            return None;
        }
        // And a path with a shell's sign passes only where a file is called so, which nobody has looked up.
        if !super::judge(&line, None).is_ok_and(|checked| !checked.names_a_sign()) {
            return None;
        }
        let lead = self.lead;
        Some(if lead.is_empty() { format!("`{line}`") } else { format!("{lead}: `{line}`") })
    }
}

/// Reads a glob as what a search of a tree takes in its place: the pattern for names, and the directory. None when its
/// directory is a pattern too.
pub(super) fn below(glob: &str) -> Option<(String, &str)> {
    let is_glob = |text: &str| text.contains(['*', '?', '[']);
    let (directory, name) = glob.rsplit_once('/').unwrap_or((".", glob));
    (is_glob(name) && !is_glob(directory)).then(|| (format!("--include={name}"), directory))
}

/// Writes words as one line that reads back as the same words.
pub(super) fn join<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        push_word(&mut line, word);
    }
    line
}

fn push_word(line: &mut String, word: &str) {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,^!".contains(c) || !c.is_ascii();
    let is_bare_from_second = |c: char| is_bare(c) || c == '~' || c == '#';
    let mut chars = word.chars();
    if chars.next().is_some_and(is_bare) && chars.all(is_bare_from_second) {
        line.push_str(word);
        return;
    }
    // An option's name stays outside the quotes, where a reader looks for it.
    let (name, value) = match word.split_once('=') {
        Some((name, _)) if name.starts_with("--") && name.chars().all(is_bare) => word.split_at(name.len() + 1),
        Some(_) | None => ("", word),
    };
    line.push_str(name);
    line.push('\'');
    for c in value.chars() {
        if c == '\'' {
            line.push_str("'\\''");
        } else {
            line.push(c);
        }
    }
    line.push('\'');
}

/// Quotes a word of the line in a message.
pub(super) fn tick(word: &str) -> String {
    format!("`{}`", show::on_one_line(word))
}

/// Returns the path relative to the workdir when it lies inside as written.
pub(super) fn relative_to(workdir: Option<&AbsPath>, path: &str) -> Option<String> {
    let rest = path.strip_prefix(workdir?.as_str())?;
    let inside = rest.trim_start_matches('/');
    let is_component = rest.len() > inside.len() || rest.is_empty();
    is_component.then(|| if inside.is_empty() { ".".into() } else { inside.into() })
}
