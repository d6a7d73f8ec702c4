//! Placeholder; filled by its first commit.
