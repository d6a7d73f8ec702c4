//! Which guards this host's kernel has, asked without any code of Owl's: where it has one and Owl does not take it, a test
//! has failed and has nothing to skip.

/// What the kernel has of the two guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guards {
    /// Landlock in a version that rules out connections, too (ABI 4).
    pub landlock: bool,
    /// seccomp filters that may answer with an error.
    pub seccomp: bool,
}

/// Asks the kernel.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "two system calls that only ask, and no crate asks them alone")]
pub fn guards() -> Guards {
    use nix::libc;
    const ASK_FOR_VERSION: libc::c_uint = 1;
    const ASK_FOR_ACTION: libc::c_uint = 2;
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: without attributes, and with the flag that asks for the version, nothing is read and nothing is made.
    let abi = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0_usize, ASK_FOR_VERSION)
    };
    // SAFETY: this operation reads the number that the pointer leads to, and does nothing else.
    let errno = unsafe { libc::syscall(libc::SYS_seccomp, ASK_FOR_ACTION, 0, &raw const action) };
    Guards { landlock: abi >= 4, seccomp: errno == 0 }
}

/// Asks the kernel.
#[cfg(not(target_os = "linux"))]
pub const fn guards() -> Guards {
    Guards { landlock: false, seccomp: false }
}
