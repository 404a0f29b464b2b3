//! discover → plan → extract → resolve → commit: the only place with threads.

mod options;

pub use options::{AgentSummary, Content, Options, Progress, Silent, Summary};
