//! Finds the seven programs, once, where the system keeps them: never by PATH, never in or under a Project (D14).

use owl_domain::{gate::Program, text::AbsPath};
use std::{
    fs::{File, Metadata},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Where programs are looked for, in this order, and below what a link there may lead.
const TRUSTED: [Trusted; 4] = [
    Trusted { directory: "/usr/bin", below: "/usr" },
    Trusted { directory: "/bin", below: "/bin" },
    Trusted { directory: "/usr/local/bin", below: "/usr" },
    Trusted { directory: "/opt/homebrew/bin", below: "/opt/homebrew" },
];

/// A directory whose programs are trusted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trusted<'a> {
    pub(crate) directory: &'a str,
    pub(crate) below: &'a str,
}

/// A program file, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Executable {
    path: PathBuf,
    loader: Option<PathBuf>,
}

impl Executable {
    /// Reads what a file is, which must be a program of this machine and not a script.
    ///
    /// # Errors
    /// When it is not, or cannot be read.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let is = path.metadata()?;
        if !is.is_file() || !is_executable(&is) {
            return Err(io::Error::other("it is not an executable file"));
        }
        let loader = if cfg!(target_os = "linux") { read_elf(&mut File::open(path)?)? } else { None };
        Ok(Self { path: path.to_owned(), loader })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the program that loads it, when it needs one.
    pub(crate) fn loader(&self) -> Option<&Path> {
        self.loader.as_deref()
    }
}

/// The programs that were found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Programs(Vec<(Program, AbsPath)>);

impl Programs {
    /// Looks for all seven. `projects` are directories in which none may lie.
    pub(crate) fn find(projects: &[AbsPath]) -> Self {
        Self::find_in(&TRUSTED, projects)
    }

    fn find_in(trusted: &[Trusted<'_>], projects: &[AbsPath]) -> Self {
        let find = |program: Program| {
            let found = trusted.iter().find_map(|place| look(*place, program, projects));
            if found.is_none() {
                tracing::warn!("`{}` was not found in a trusted directory", program.name());
            }
            Some((program, found?))
        };
        Self(Program::ALL.into_iter().filter_map(find).collect())
    }

    /// Returns where a program lies.
    pub(crate) fn path(&self, program: Program) -> Option<&AbsPath> {
        self.0.iter().find_map(|(name, path)| (*name == program).then_some(path))
    }
}

fn look(place: Trusted<'_>, program: Program, projects: &[AbsPath]) -> Option<AbsPath> {
    let candidate = Path::new(place.directory).join(program.name());
    let path = candidate.canonicalize().ok()?;
    let refused = |why: &str| {
        tracing::warn!("{} is not used: {why}", candidate.display());
        None
    };
    // `/bin` may itself be a link, to `/usr/bin`.
    let below = Path::new(place.below).canonicalize().ok()?;
    if !path.starts_with(below) {
        return refused("it leads out of where the system keeps its programs");
    }
    if projects.iter().any(|project| path.starts_with(project.as_str())) {
        return refused("it lies in a Project");
    }
    if let Err(e) = Executable::read(&path) {
        return refused(&e.to_string());
    }
    AbsPath::new(path.to_str()?).ok()
}

fn is_executable(is: &Metadata) -> bool {
    is.permissions().mode() & 0o111 != 0
}

/// The first bytes of an ELF file: class, byte order, machine, and where its segments are told.
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const INTERPRETER: u32 = 3;
/// A path, and more than any system's loader has.
const LOADER_BYTES: u64 = 4096;

/// Reads the loader that an ELF file of this machine asks for. A static program asks for none.
fn read_elf(file: &mut File) -> io::Result<Option<PathBuf>> {
    let wrong = |what: &str| io::Error::other(what.to_owned());
    let mut header = [0; HEADER];
    file.read_exact(&mut header).map_err(|_| wrong("it is not an ELF file"))?;
    let own = {
        let mut own = [0; HEADER];
        File::open("/proc/self/exe")?.read_exact(&mut own)?;
        own
    };
    let [magic, machine] = [0..6, 18..20].map(|range| (header.get(range.clone()), own.get(range)));
    if header.get(..4) != Some(b"\x7fELF".as_slice()) {
        return Err(wrong("it is not an ELF file"));
    }
    // Class and byte order, then the machine: what differs would not run, or by other system calls.
    if magic.0 != magic.1 || machine.0 != machine.1 || header.get(4) != Some(&2) {
        return Err(wrong("it is not a program for this machine"));
    }
    let offset = u64::from_ne_bytes(part(&header, 32));
    let count = u16::from_ne_bytes(part(&header, 56));
    file.seek(SeekFrom::Start(offset))?;
    for _ in 0..count {
        let mut segment = [0; SEGMENT];
        file.read_exact(&mut segment)?;
        if u32::from_ne_bytes(part(&segment, 0)) != INTERPRETER {
            continue;
        }
        file.seek(SeekFrom::Start(u64::from_ne_bytes(part(&segment, 8))))?;
        let mut path = Vec::new();
        file.take(u64::from_ne_bytes(part(&segment, 32)).min(LOADER_BYTES)).read_to_end(&mut path)?;
        let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
        let path = std::str::from_utf8(path).map_err(|_| wrong("its loader's path is not UTF-8"))?;
        return Ok(Some(PathBuf::from(path)));
    }
    Ok(None)
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut part = [0; N];
    if let Some(found) = bytes.get(at..at + N) {
        part.copy_from_slice(found);
    }
    part
}

#[cfg(test)]
mod tests;
