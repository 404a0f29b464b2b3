//! Every environment variable that llrem reads, apart from the agents' own, which `llrem agents` lists.

/// The lake's folder. `--lake` overrides it.
pub const LAKE: &str = "LLREM_LAKE";
/// The configuration file. `--config` overrides it.
pub const CONFIG: &str = "LLREM_CONFIG";
/// The time zone. `--timezone` overrides it.
pub const TIMEZONE: &str = "LLREM_TIMEZONE";
/// The name of this machine in the lake. Overrides `machine` of the configuration.
pub const MACHINE: &str = "LLREM_MACHINE";
/// Secrets to replace. `--redact` overrides it.
pub const REDACT: &str = "LLREM_REDACT";
/// Texts to keep. `--content` overrides it.
pub const CONTENT: &str = "LLREM_CONTENT";
/// Threads of `etl`. `--jobs` overrides it.
pub const JOBS: &str = "LLREM_JOBS";
/// The history file of `llrem sql`, or `off`. Overrides `history` of the configuration.
pub const HISTORY: &str = "LLREM_HISTORY";
/// Profile of `upload`. `--profile` overrides it.
pub const PROFILE: &str = "LLREM_PROFILE";
/// Parts into which a cluster divides a query. The name is that of `DataFusion`.
pub const PARTITIONS: &str = "DATAFUSION_EXECUTION_TARGET_PARTITIONS";
/// Any value switches colour off, unless `--color always` is given.
pub const NO_COLOR: &str = "NO_COLOR";
/// Width of a terminal whose size is unknown. Columns.
pub const COLUMNS: &str = "COLUMNS";
/// `dumb` switches colour off.
pub const TERM: &str = "TERM";
/// The pager of long texts. Overrides `PAGER`; `cat` switches it off.
pub const LLREM_PAGER: &str = "LLREM_PAGER";
/// The system's own pager.
pub const PAGER: &str = "PAGER";
/// Options of the pager `less`.
pub const LESS: &str = "LESS";
/// Locale of the terminal's characters; the first that is set counts.
pub const LOCALE: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];
/// The current time, in RFC 3339, for tests.
pub const NOW: &str = "LLREM_NOW";
/// The system's own time zone variable, used if it names a zone.
pub const TZ: &str = "TZ";

/// Returns the value of a variable, if it is set and not empty.
pub fn value(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
