//! Every environment variable that llrem reads, apart from the agents' own, which `llrem agents` lists.

/// The lake's folder; `--lake` goes first.
pub const LAKE: &str = "LLREM_LAKE";
/// The configuration file; `--config` goes first.
pub const CONFIG: &str = "LLREM_CONFIG";
/// The time zone; `--timezone` goes first.
pub const TIMEZONE: &str = "LLREM_TIMEZONE";
/// The name of this machine in the lake; goes before `machine` of the configuration.
pub const MACHINE: &str = "LLREM_MACHINE";
/// Which secrets to replace; `--redact` goes first.
pub const REDACT: &str = "LLREM_REDACT";
/// Whether texts are kept; `--content` goes first.
pub const CONTENT: &str = "LLREM_CONTENT";
/// Threads of `etl`; `--jobs` goes first.
pub const JOBS: &str = "LLREM_JOBS";
/// The file of the history of `llrem sql`, or `off`; goes before `history` of the configuration.
pub const HISTORY: &str = "LLREM_HISTORY";
/// What leaves with `upload`; `--profile` goes first.
pub const PROFILE: &str = "LLREM_PROFILE";
/// Parts into which a cluster divides a query, as `DataFusion` calls it.
pub const PARTITIONS: &str = "DATAFUSION_EXECUTION_TARGET_PARTITIONS";
/// Any value switches colour off, unless `--color always` is given.
pub const NO_COLOR: &str = "NO_COLOR";
/// Width of a terminal that does not tell it. Columns.
pub const COLUMNS: &str = "COLUMNS";
/// `dumb` switches colour off.
pub const TERM: &str = "TERM";
/// The system's own time zone variable, used when it names a zone.
pub const TZ: &str = "TZ";

/// Value of a variable, when it is set and not empty.
pub fn value(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
