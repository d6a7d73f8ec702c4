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
        TargetArch, apply_filter, sock_filter,
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
                let (refused, absent) = (program(refused, libc::EPERM)?, program(absent, libc::ENOSYS)?);
                let x32: &[sock_filter] = if cfg!(target_arch = "x86_64") { &NO_X32 } else { &[] };
                Ok(Self { refused: [x32, &refused].concat(), absent })
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

    fn program(rules: Rules, errno: i32) -> Result<BpfProgram, Error> {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        let action = SeccompAction::Errno(errno.cast_unsigned());
        Ok(SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()?)
    }

    /// Refuses every call by its x32 number with `EPERM`: the same kernel takes each call by that number too, under the
    /// same architecture, and no program of a system calls so. A rule for each would double what the kernel tries for
    /// each call there is when a filter is loaded, which is for each command.
    const NO_X32: [sock_filter; 3] = [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, NUMBER),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned()),
    ];
    /// Where a call's number stands in what a filter is given.
    const NUMBER: u32 = 0;
    /// The least number of an x32 call.
    const X32: u32 = 0x4000_0000;

    /// Makes an instruction; a comparison that does not hold passes over `otherwise` ones.
    const fn instruction(code: u32, otherwise: u8, k: u32) -> sock_filter {
        // Every code of the classic BPF fits.
        sock_filter { code: code as u16, jt: 0, jf: otherwise, k }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Runs a filter as the kernel does, for the few instructions that there are.
        fn answer(filter: &[sock_filter], arch: u32, number: u32, argument: u64) -> u32 {
            let mut given = [number.to_ne_bytes(), arch.to_ne_bytes(), [0; 4], [0; 4]].concat();
            given.extend(argument.to_ne_bytes());
            let (mut at, mut a) = (0, 0);
            loop {
                let step = &filter[at];
                at += 1;
                let holds = match u32::from(step.code) {
                    code if code == libc::BPF_RET | libc::BPF_K => return step.k,
                    code if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                        let from = step.k as usize;
                        a = u32::from_ne_bytes(given[from..from + 4].try_into().unwrap());
                        continue;
                    }
                    code if code == libc::BPF_JMP | libc::BPF_JA => {
                        at += step.k as usize;
                        continue;
                    }
                    code if code == libc::BPF_ALU | libc::BPF_AND | libc::BPF_K => {
                        a &= step.k;
                        continue;
                    }
                    code if code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => a == step.k,
                    code if code == libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K => a >= step.k,
                    code if code == libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K => a > step.k,
                    code => panic!("an instruction {code:#x}"),
                };
                at += usize::from(if holds { step.jt } else { step.jf });
            }
        }

        const EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
        const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
        #[cfg(target_arch = "x86_64")]
        const ARCH: u32 = 0xC000_003E;
        #[cfg(target_arch = "aarch64")]
        const ARCH: u32 = 0xC000_00B7;
        #[cfg(target_arch = "riscv64")]
        const ARCH: u32 = 0xC000_00F3;

        fn number(call: i64) -> u32 {
            u32::try_from(call).unwrap()
        }

        #[test]
        fn what_is_listed_is_refused_and_nothing_else() {
            let Filters { refused, absent } = Filters::compile().unwrap();
            for call in 0..1_000 {
                let listed = REFUSED.contains(&call) || call == libc::SYS_clone;
                assert_eq!(answer(&refused, ARCH, number(call), 0) == EPERM, listed, "{call}");
                let expected = if call == libc::SYS_clone3 {
                    libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()
                } else {
                    ALLOW
                };
                assert_eq!(answer(&absent, ARCH, number(call), 0), expected, "{call}");
            }
            let thread = u64::from((libc::CLONE_THREAD | libc::CLONE_VM).cast_unsigned());
            assert_eq!(answer(&refused, ARCH, number(libc::SYS_clone), thread), ALLOW);
            assert_eq!(
                answer(&refused, ARCH, number(libc::SYS_clone), u64::from(libc::CLONE_VM.cast_unsigned())),
                EPERM
            );
        }

        #[test]
        #[cfg(target_arch = "x86_64")]
        fn what_the_wall_is_for_is_refused() {
            let Filters { refused, .. } = Filters::compile().unwrap();
            for (name, call) in [
                ("fork", 57),
                ("vfork", 58),
                ("clone", 56),
                ("socket", 41),
                ("socketpair", 53),
                ("io_uring_setup", 425),
                ("ptrace", 101),
                ("chmod", 90),
                ("fchmod", 91),
                ("fchmodat", 268),
                ("fchmodat2", 452),
                ("chown", 92),
                ("fchown", 93),
                ("lchown", 94),
                ("fchownat", 260),
                ("utime", 132),
                ("utimes", 235),
                ("futimesat", 261),
                ("utimensat", 280),
                ("setxattr", 188),
                ("lsetxattr", 189),
                ("fsetxattr", 190),
                ("removexattr", 197),
                ("lremovexattr", 198),
                ("fremovexattr", 199),
                ("setxattrat", 463),
                ("removexattrat", 466),
            ] {
                assert_eq!(answer(&refused, ARCH, call, 0), EPERM, "{name}");
            }
        }

        #[test]
        #[cfg(target_arch = "x86_64")]
        fn no_call_goes_by_an_x32_number() {
            let Filters { refused, .. } = Filters::compile().unwrap();
            for call in 0..1_000 {
                assert_eq!(answer(&refused, ARCH, call | X32, u64::MAX), EPERM, "{call}");
            }
            assert_eq!(answer(&refused, ARCH, u32::MAX, 0), EPERM);
        }

        #[test]
        fn another_architectures_numbers_end_the_process() {
            const I386: u32 = 0x4000_0003;
            let Filters { refused, absent } = Filters::compile().unwrap();
            for filter in [refused, absent] {
                for call in 0..1_000 {
                    assert_eq!(answer(&filter, I386, call, 0), libc::SECCOMP_RET_KILL_PROCESS, "{call}");
                }
            }
        }
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
