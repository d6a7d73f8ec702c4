//! Names of stored things: a prefix and a number that is never used twice (rpc.md's ids). Numbers are given by the store.

use alloc::string::String;
use core::{fmt, str::FromStr};

/// Says that a string names no such thing. On the wire this is `not_found`, never a format error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names nothing")]
pub struct NamesNothing(pub String);

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(i64);

        impl $name {
            /// Wraps the number that the store gave.
            pub const fn new(number: i64) -> Self {
                Self(number)
            }

            /// Returns the number without its prefix.
            pub const fn number(self) -> i64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = NamesNothing;

            /// Reads the one spelling that [`fmt::Display`] writes; leading zeros and signs name nothing.
            fn from_str(text: &str) -> Result<Self, NamesNothing> {
                let nothing = || NamesNothing(text.into());
                let digits = text.strip_prefix(concat!($prefix, "_")).ok_or_else(nothing)?;
                let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
                if !plain {
                    return Err(nothing());
                }
                digits.parse().map(Self).map_err(|_| nothing())
            }
        }
    )*};
}

ids! {
    /// A Conversation, `c_12`.
    ConversationId = "c";
    /// A Turn, `t_40`.
    TurnId = "t";
    /// An Item of a Conversation, `i_7`.
    ItemId = "i";
    /// A Proposal, `p_3`.
    ProposalId = "p";
    /// A Grant, `g_1`.
    GrantId = "g";
    /// A Job, `j_7`.
    JobId = "j";
    /// A Run, `r_9`.
    RunId = "r";
}

/// The number of a stored event: one sequence for the whole database, ascending in the order of commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Seq(pub i64);

#[cfg(test)]
mod tests;
