//! The same rows from every engine: canned queries run unchanged on llrem and on DuckDB, in its dialect on Spark's, over a
//! lake on the disk and over a team's in a bucket; and the notebooks run.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "what fails here fails a test; files are the test's own"
)]

#[path = "engines/answers.rs"]
mod answers;
mod common;
#[path = "engines/costs.rs"]
mod costs;
#[path = "engines/hours.rs"]
mod hours;
#[path = "engines/intervals.rs"]
mod intervals;
#[path = "engines/joins.rs"]
mod joins;
#[cfg(unix)]
#[path = "common/bench.rs"]
mod lake;
#[cfg(unix)]
#[path = "common/machines.rs"]
mod machines;
#[path = "engines/notebooks.rs"]
mod notebooks;
#[path = "engines/numbers.rs"]
mod numbers;
#[path = "engines/parity.rs"]
mod parity;
#[path = "engines/portable.rs"]
mod portable;
#[cfg(unix)]
#[path = "upload/proxy.rs"]
#[allow(dead_code, reason = "shared")]
mod proxy;
#[path = "common/script.rs"]
mod script;
#[cfg(unix)]
#[path = "upload/server.rs"]
#[allow(dead_code, reason = "shared")]
mod server;
#[path = "engines/sums.rs"]
mod sums;
#[cfg(unix)]
#[path = "engines/team.rs"]
mod team;
#[path = "engines/work.rs"]
mod work;

use common::{Built, Home};

/// A lake of every case of every agent.
fn lake_of_all_fixtures(lake: &Built<'_>) {
    for home in Home::of_all_cases() {
        lake.run_with(|options| options.home = Some(home.path().to_owned()));
    }
}
