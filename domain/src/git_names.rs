//! What a file system, or git on one, would take for `.git` (ADR-0022, D12). The gate asks it about words as they are
//! written, the path port about names as they are found: one rule, so that the two cannot drift apart. Knows no I/O.

/// Says whether one component of a path spells `.git` on any file system that Owl may meet: in any case, with what
/// HFS+ ignores inside it, with what NTFS cuts off behind it, or by its NTFS short name. The rule is the same on every
/// system: a repository travels.
#[must_use]
pub fn spells_dot_git(component: &[u8]) -> bool {
    // A separator that only Windows knows, and a stream's name: the part before it is what is opened.
    let cut = component.split(|byte| matches!(byte, b':' | b'\\')).next().unwrap_or_default();
    let bare = trimmed(cut);
    [b".git".as_slice(), b"git~1"].iter().any(|name| matches_ignoring(bare, name))
}

/// Takes off the blanks and dots, and what HFS+ ignores, at the end.
fn trimmed(mut name: &[u8]) -> &[u8] {
    while let Some((last, rest)) = name.split_last() {
        if matches!(last, b' ' | b'.') {
            name = rest;
            continue;
        }
        match name.split_last_chunk::<3>() {
            Some((rest, three)) if is_ignored(*three) => name = rest,
            Some(_) | None => break,
        }
    }
    name
}

/// Compares in any ASCII case, passing over what HFS+ ignores.
fn matches_ignoring(mut found: &[u8], mut name: &[u8]) -> bool {
    loop {
        if let Some((three, rest)) = found.split_first_chunk::<3>()
            && is_ignored(*three)
        {
            found = rest;
            continue;
        }
        match (found.split_first(), name.split_first()) {
            (None, None) => return true,
            (Some((a, more_found)), Some((b, more_name))) if a.eq_ignore_ascii_case(b) => {
                found = more_found;
                name = more_name;
            }
            (Some(_), Some(_)) | (Some(_), None) | (None, Some(_)) => return false,
        }
    }
}

/// Says whether three bytes are the UTF-8 of a character that HFS+ drops when it compares names. The first, the
/// zero-width space, is not one of them; it is on the list because nobody could tell such a name from `.git`.
const fn is_ignored(bytes: [u8; 3]) -> bool {
    matches!(
        bytes,
        // U+200B to U+200F, U+202A to U+202E, U+206A to U+206F, U+FEFF
        [0xe2, 0x80, 0x8b..=0x8f | 0xaa..=0xae] | [0xe2, 0x81, 0xaa..=0xaf] | [0xef, 0xbb, 0xbf]
    )
}

#[cfg(test)]
mod tests;
