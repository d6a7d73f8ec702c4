//! A Landlock rule set while it is made, and what it is where there is no Landlock (D13, D25).

use super::Strength;
#[cfg(target_os = "linux")]
pub(super) use linux::Ruleset;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Ruleset;

/// What a rule lets a program do. Nothing lets it write, but for `/dev/null`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// Read this one file.
    ReadFile,
    /// List this directory and those below.
    List,
    /// Read and list all below.
    Read,
    /// Read and execute this one file.
    Execute,
    /// Read and write: `/dev/null`.
    ReadWrite,
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Right, Strength};
    use landlock::{
        ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
        Ruleset as Builder, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
    };
    use std::{io, os::fd::AsFd};

    /// Without these Landlock is not counted as a guard: files up to truncation, and TCP.
    const NEEDED_FILES: ABI = ABI::V3;
    const NEEDED_NETWORK: ABI = ABI::V4;
    /// The newest that was tried: device ioctls, signals and abstract sockets too.
    const WANTED: ABI = ABI::V7;

    #[derive(Debug)]
    pub(in crate::wall) struct Ruleset(RulesetCreated);

    impl Ruleset {
        /// Makes one that allows nothing.
        pub(in crate::wall) fn new(strength: Strength) -> io::Result<Self> {
            let needed = match strength {
                Strength::Whole => CompatLevel::HardRequirement,
                Strength::Partial => CompatLevel::BestEffort,
            };
            let make = || -> Result<RulesetCreated, RulesetError> {
                Builder::default()
                    .set_compatibility(needed)
                    .handle_access(AccessFs::from_all(NEEDED_FILES))?
                    .handle_access(AccessNet::from_all(NEEDED_NETWORK))?
                    .set_compatibility(CompatLevel::BestEffort)
                    .handle_access(AccessFs::from_all(WANTED))?
                    .scope(Scope::from_all(WANTED))?
                    .create()
            };
            make().map(Self).map_err(io::Error::other)
        }

        /// Adds a rule for what is open at `fd`. The descriptor's own kind decides which part of the right applies.
        pub(in crate::wall) fn allow(&mut self, fd: impl AsFd, right: Right) -> io::Result<()> {
            let access: BitFlags<AccessFs> = match right {
                Right::ReadFile => AccessFs::ReadFile.into(),
                Right::List => AccessFs::ReadDir.into(),
                Right::Read => make_bitflags!(AccessFs::{ReadFile | ReadDir}),
                Right::Execute => make_bitflags!(AccessFs::{ReadFile | Execute}),
                Right::ReadWrite => make_bitflags!(AccessFs::{ReadFile | WriteFile}),
            };
            (&mut self.0).add_rule(PathBeneath::new(fd, access)).map(drop).map_err(io::Error::other)
        }

        /// Binds the calling thread. Runs in the child: four system calls. What is used up is a copy of the descriptor,
        /// because this value belongs to the daemon, whose memory the child is in.
        pub(in crate::wall) fn restrict_self(&self) -> Result<Option<u32>, ()> {
            let copy = self.0.try_clone().map_err(drop)?;
            Ok(match copy.restrict_self().map_err(drop)?.landlock {
                LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
                LandlockStatus::Available { effective_abi, kernel_abi } => {
                    Some(kernel_abi.and_then(|abi| u32::try_from(abi).ok()).unwrap_or(effective_abi as u32))
                }
            })
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use super::{Right, Strength};
    use std::{io, os::fd::AsFd};

    #[derive(Debug)]
    pub(in crate::wall) enum Ruleset {}

    impl Ruleset {
        pub(in crate::wall) fn new(_: Strength) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::wall) fn allow(&mut self, _: impl AsFd, _: Right) -> io::Result<()> {
            match *self {}
        }

        pub(in crate::wall) fn restrict_self(&self) -> Result<Option<u32>, ()> {
            match *self {}
        }
    }
}
