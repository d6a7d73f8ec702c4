//! owl-files: what Owl asks the file system. Where an operand really leads (D12), the lock of a data directory (D4),
//! private directories and files (D2), an Account's settings (D19), Runs' logs. Starts nothing, speaks to no network.
#![forbid(unsafe_code)]

mod account_settings;
mod lock;
mod paths;
mod private;
mod run_logs;

pub use account_settings::HostAccountSettings;
pub use lock::{DataLock, LockError};
pub use paths::HostPaths;
pub use private::{PrivateError, create_dir, create_file, replace_file};
pub use run_logs::HostRunLogs;
