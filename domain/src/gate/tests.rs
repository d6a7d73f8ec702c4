//! The gate as a whole: lists of lines, what each refusal says, the doors, and properties over all lines.

#![expect(clippy::indexing_slicing, reason = "a test that reads past an end is to fail")]

mod doors;
mod lists;
mod properties;
mod refusals;
mod tree;
