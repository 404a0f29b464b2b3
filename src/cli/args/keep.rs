//! Options of the commands that keep a lake current and whole, and copy it.

use clap::{Args, ValueEnum, ValueHint};

use crate::environment;

/// `llrem upload`
#[derive(Debug, Args)]
pub struct Upload {
    /// Destination: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER
    #[arg(value_hint = ValueHint::Url)]
    pub url: String,
    /// Profile of the uploaded data [default: redacted]
    #[arg(long, value_enum, value_name = "PROFILE", env = environment::PROFILE, hide_env_values = true)]
    pub profile: Option<Profile>,
    /// List what would be uploaded and deleted, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Upload every file again, and delete files at the destination that are not in the lake
    #[arg(long)]
    pub full: bool,
    /// Replace what another lake, or a copy of this one, uploaded under this machine's name
    #[arg(long)]
    pub replace: bool,
}

/// `llrem verify`
#[derive(Debug, Args)]
pub struct Verify {
    /// Also read every row
    #[arg(long)]
    pub read_data: bool,
}

/// Profile of the data that `upload` sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Everything, as it is in the lake
    Full,
    /// Texts without secrets, e-mail and IP addresses and user names
    Redacted,
    /// No texts; paths, branches and repositories as keyed hashes
    Metrics,
}
