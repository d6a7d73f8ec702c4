//! The gate as a whole: lists of lines, what each refusal says, the doors, and properties over all lines.

mod doors;
mod lists;
mod properties;
mod refusals;
mod tree;
