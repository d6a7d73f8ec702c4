//! Rows read as the domain's objects: the columns of each, and how they are read. Changes nothing.

mod conversation;
mod item;
mod proposal;
mod turn;

pub(crate) use conversation::*;
pub(crate) use item::*;
pub(crate) use proposal::*;
pub(crate) use turn::*;
