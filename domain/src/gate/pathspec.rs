//! git's own path patterns: the magic in front, and the path behind it, which is judged like any other (D11, D12).

/// Takes the magic off a pathspec and returns the path: `:!` `:^` `:/` in any mixture, or `:(…)` of known words. None
/// when it holds magic that is not known.
pub(super) fn path_of(spec: &str) -> Option<&str> {
    let Some(rest) = spec.strip_prefix(':') else {
        return Some(spec);
    };
    if let Some(long) = rest.strip_prefix('(') {
        let (words, path) = long.split_once(')')?;
        return words.split(',').all(is_magic).then_some(path);
    }
    let path = rest.trim_start_matches(['!', '^', '/']);
    if path.len() == rest.len() {
        return None;
    }
    Some(path.strip_prefix(':').unwrap_or(path))
}

/// Says whether a word can only be a pathspec, wherever it stands.
pub(super) fn is_only_a_pathspec(word: &str) -> bool {
    // `:/` with words behind it is a search in messages.
    word == ":/" || [":(", ":!", ":^"].iter().any(|magic| word.starts_with(magic))
}

/// Not `attr`, whose values the repository defines, and not `prefix`, which is git's own.
fn is_magic(word: &str) -> bool {
    matches!(word, "top" | "exclude" | "icase" | "literal" | "glob")
}

#[cfg(test)]
mod tests;
