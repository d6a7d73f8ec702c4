//! The socket: a private directory, a live or a stale socket told apart, 0600 from the moment it exists (D4, D7).

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
    sys::{
        socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket},
        stat::{Mode, fchmod},
    },
    unistd::Uid,
};
use owl_domain::show::visible;
use std::{
    fs::{self, DirBuilder, File},
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The longest path that fits into a socket's address, in bytes.
pub const PATH_BYTES: usize = if cfg!(target_os = "macos") { 103 } else { 107 };

/// What is done about the directory of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directory {
    /// It is Owl's own: made, or tightened to 0700.
    Own,
    /// A person chose it: made 0700 when it is not there, else left as it is, and refused where strangers may write.
    Chosen,
}

/// Why the daemon has no socket.
#[derive(Debug)]
pub enum BindError {
    /// The path does not fit into a socket's address.
    TooLong(PathTooLong),
    /// A daemon answers there.
    Live(PathBuf),
    /// Something that is not a socket is there, and is never removed.
    InTheWay(PathBuf),
    /// The directory is not private enough.
    Exposed(PathBuf),
    /// The file system, or the kernel, refused.
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A path that does not fit into a socket's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTooLong {
    /// The path.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: usize,
}

impl std::fmt::Display for PathTooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = shown(&self.path);
        write!(f, "the socket's path {path} has {} bytes, and at most {PATH_BYTES} fit; set OWL_SOCKET", self.bytes)
    }
}

impl std::error::Error for PathTooLong {}

impl std::fmt::Display for BindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong(too_long) => too_long.fmt(f),
            Self::Live(path) => write!(f, "another daemon answers at {}", shown(path)),
            Self::InTheWay(path) => {
                write!(f, "{} is there and is not a socket; move it away, or set OWL_SOCKET", shown(path))
            }
            Self::Exposed(path) => {
                write!(f, "others may write into {}; choose a private directory for the socket", shown(path))
            }
            Self::Io { path, .. } => write!(f, "no socket can be made at {}", shown(path)),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::TooLong(_) | Self::Live(_) | Self::InTheWay(_) | Self::Exposed(_) => None,
        }
    }
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

/// Says whether a path fits into a socket's address.
///
/// # Errors
/// [`PathTooLong`] names path and limit.
pub fn check_length(path: &Path) -> Result<(), PathTooLong> {
    let bytes = path.as_os_str().len();
    if bytes > PATH_BYTES { Err(PathTooLong { path: path.into(), bytes }) } else { Ok(()) }
}

/// A socket that is listened on. Its file is removed again, if it is still this one.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) listener: std::os::unix::net::UnixListener,
    pub(crate) file: SocketFile,
}

/// The name of a socket in the file system.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// Removes the file, unless another has taken its place.
    pub(crate) fn remove(&self) {
        let Some(directory) = self.path.parent() else { return };
        let Ok(_held) = hold(directory) else { return };
        let is_ours =
            fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == (self.device, self.inode));
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the socket could not be removed");
        }
    }
}

/// Listens at a path. Whoever binds holds the directory, so that of two that start in one moment exactly one does.
pub(crate) fn listen_at(path: &Path, directory: Directory) -> Result<Bound, BindError> {
    check_length(path).map_err(BindError::TooLong)?;
    let failed = |source| BindError::Io { path: path.into(), source };
    let parent = match path.parent() {
        Some(parent) if path.is_absolute() => parent,
        _ => return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "the path is not absolute"))),
    };
    prepare(parent, directory)?;
    let _held = hold(parent).map_err(failed)?;
    make_way(path)?;
    let listener = open(path).map_err(failed)?;
    let found = fs::symlink_metadata(path).map_err(failed)?;
    let file = SocketFile { path: path.into(), device: found.dev(), inode: found.ino() };
    Ok(Bound { listener, file })
}

fn prepare(parent: &Path, directory: Directory) -> Result<(), BindError> {
    let failed = |source| BindError::Io { path: parent.into(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(failed)?;
    let found = fs::metadata(parent).map_err(failed)?;
    let (mode, own) = (found.permissions().mode(), Uid::effective().as_raw());
    match directory {
        Directory::Own if found.uid() != own => Err(BindError::Exposed(parent.into())),
        Directory::Own if mode & 0o7777 != 0o700 => {
            fs::set_permissions(parent, fs::Permissions::from_mode(0o700)).map_err(failed)
        }
        Directory::Own => Ok(()),
        Directory::Chosen => {
            let sticky = mode & 0o1000 != 0;
            let strangers_write = mode & 0o022 != 0 && !sticky;
            let strangers_own = found.uid() != own && found.uid() != 0;
            if strangers_write || strangers_own { Err(BindError::Exposed(parent.into())) } else { Ok(()) }
        }
    }
}

/// How long one start waits for another that is binding in the same directory.
const HELD_AT_MOST: Duration = Duration::from_secs(5);

/// Holds a directory against other daemons that bind or remove in it.
fn hold(directory: &Path) -> io::Result<Flock<File>> {
    let since = Instant::now();
    let mut opened = File::open(directory)?;
    loop {
        match Flock::lock(opened, FlockArg::LockExclusiveNonblock) {
            Ok(held) => return Ok(held),
            Err((file, Errno::EWOULDBLOCK | Errno::EINTR)) if since.elapsed() < HELD_AT_MOST => opened = file,
            Err((_, errno)) => return Err(errno.into()),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Removes a stale socket; a live one, or anything else, stays.
fn make_way(path: &Path) -> Result<(), BindError> {
    let failed = |source| BindError::Io { path: path.into(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.file_type().is_socket() => return Err(BindError::InTheWay(path.into())),
        Ok(_) => {}
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed),
        // Its queue is full: somebody is behind it.
        Ok(_) => Err(BindError::Live(path.into())),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(BindError::Live(path.into())),
        Err(error) => Err(failed(error)),
    }
}

/// Makes the socket with its mode set before it has a name.
fn open(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    let fd: OwnedFd = socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None)?;
    nix::fcntl::fcntl(&fd, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
    let private = Mode::S_IRUSR | Mode::S_IWUSR;
    // Linux gives the file the mode of the descriptor. Elsewhere only the mask does, and it is the whole process's:
    // there, files made in this moment by other threads are too private rather than too open.
    fchmod(&fd, private).or_else(|errno| if cfg!(target_os = "linux") { Err(errno) } else { Ok(()) })?;
    let mask = (!cfg!(target_os = "linux")).then(|| nix::sys::stat::umask(Mode::from_bits_truncate(0o177)));
    let bound = bind(std::os::fd::AsRawFd::as_raw_fd(&fd), &UnixAddr::new(path)?);
    if let Some(mask) = mask {
        nix::sys::stat::umask(mask);
    }
    bound?;
    listen(&fd, Backlog::new(1024).unwrap_or(Backlog::MAXCONN))?;
    let listener = std::os::unix::net::UnixListener::from(fd);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Says whether a peer is served: the daemon's own user, or root.
pub(crate) fn is_served(peer: u32) -> bool {
    peer == 0 || peer == Uid::effective().as_raw()
}

#[cfg(test)]
mod tests;
