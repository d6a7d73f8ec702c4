//! The seccomp filters: no new process, no socket, no other owner, mode, time or attribute of a file; threads stay
//! possible (D13). Everything else is Landlock's.

#[cfg(target_os = "linux")]
pub(super) use linux::Filters;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Filters;

#[cfg(target_os = "linux")]
mod linux {
    use nix::libc;
    use seccompiler::{
        BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        TargetArch, apply_filter,
    };
    use std::{collections::BTreeMap, io};

    type Rules = BTreeMap<i64, Vec<SeccompRule>>;

    /// Two programs, because one has one errno. Both kill a process that calls by another architecture's numbers.
    #[derive(Debug)]
    pub(in crate::wall) struct Filters {
        refused: BpfProgram,
        absent: BpfProgram,
    }

    /// Refused with `EPERM` whatever their arguments.
    const REFUSED: &[i64] = &[
        #[cfg(target_arch = "x86_64")]
        libc::SYS_fork,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork,
        libc::SYS_socket,
        libc::SYS_socketpair,
        // Opens sockets and files without a system call of their own.
        libc::SYS_io_uring_setup,
        libc::SYS_ptrace,
        // The number of ptrace in the x32 list, which has some of its own.
        #[cfg(target_arch = "x86_64")]
        521,
        // What a file is beside its content, of which Landlock knows nothing.
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_utimensat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        // fchmodat2, setxattrat, removexattrat: the same numbers everywhere.
        452,
        463,
        466,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chown,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lchown,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utime,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_utimes,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat,
    ];

    impl Filters {
        /// Compiles the filters for this architecture.
        pub(in crate::wall) fn compile() -> io::Result<Self> {
            let make = || -> Result<Self, Error> {
                let mut refused: Rules = REFUSED.iter().map(|number| (*number, Vec::new())).collect();
                refused.insert(libc::SYS_clone, vec![without_thread()?]);
                // glibc falls back to `clone`, whose flags a filter can see.
                let absent = Rules::from([(libc::SYS_clone3, Vec::new())]);
                Ok(Self { refused: program(refused, libc::EPERM)?, absent: program(absent, libc::ENOSYS)? })
            };
            make().map_err(io::Error::other)
        }

        /// Filters that no kernel accepts.
        #[cfg(test)]
        pub(in crate::wall) fn broken() -> Self {
            Self { refused: Vec::new(), absent: Vec::new() }
        }

        /// Binds the calling thread. Runs in the child: four system calls.
        pub(in crate::wall) fn apply(&self) -> Result<(), Error> {
            apply_filter(&self.refused)?;
            apply_filter(&self.absent)
        }
    }

    fn without_thread() -> Result<SeccompRule, seccompiler::BackendError> {
        let thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
        let unset = SeccompCmpOp::MaskedEq(thread);
        SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Qword, unset, 0)?])
    }

    fn program(mut rules: Rules, errno: i32) -> Result<BpfProgram, Error> {
        if cfg!(target_arch = "x86_64") {
            // The same kernel takes each call by its x32 number too, under the same architecture.
            const X32: i64 = 0x4000_0000;
            let again: Vec<_> = rules.iter().map(|(number, rule)| (number | X32, rule.clone())).collect();
            rules.extend(again);
        }
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        let action = SeccompAction::Errno(errno.cast_unsigned());
        Ok(SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()?)
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;

    #[derive(Debug)]
    pub(in crate::wall) enum Filters {}

    impl Filters {
        pub(in crate::wall) fn compile() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::wall) fn apply(&self) -> io::Result<()> {
            match *self {}
        }
    }
}
