//! Versions of Claude Code.

/// The ways in which versions of Claude Code differ on disk, named by one version of each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// 1.0.31: usage as it stood at the start of the stream, sidechains inline.
    Inline,
    /// 2.0.28: `agent-*.jsonl` in the folder of the sessions.
    SameFolder,
    /// 2.1.36: `subagents/`, progress lines; the last line of a response often has the final usage.
    Progress,
    /// 2.1.70: the last line of a response always has the final usage.
    LastFinal,
    /// 2.1.329: all lines of a response have the final usage.
    AllFinal,
}

impl Era {
    pub const ALL: [Self; 5] = [Self::Inline, Self::SameFolder, Self::Progress, Self::LastFinal, Self::AllFinal];

    pub fn version(self) -> &'static str {
        match self {
            Self::Inline => "1.0.31",
            Self::SameFolder => "2.0.28",
            Self::Progress => "2.1.36",
            Self::LastFinal => "2.1.70",
            Self::AllFinal => "2.1.329",
        }
    }

    /// The era whose files are most like those of `version`.
    pub fn of(version: &str) -> Self {
        let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        match version {
            (..=1, ..) => Self::Inline,
            (2, 0, ..=75) => Self::SameFolder,
            (2, 0, _) | (2, 1, ..=49) => Self::Progress,
            (2, 1, ..=111) => Self::LastFinal,
            _ => Self::AllFinal,
        }
    }

    pub fn models(self) -> &'static [&'static str] {
        match self {
            Self::Inline => &["claude-sonnet-4-20250514", "claude-opus-4-20250514"],
            Self::SameFolder => &["claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805"],
            Self::Progress => &["claude-opus-4-5-20251101", "claude-opus-4-6", "claude-opus-4-5-20251101"],
            Self::LastFinal => &["claude-opus-4-6", "claude-sonnet-4-6"],
            Self::AllFinal => &["claude-opus-5", "claude-sonnet-5", "claude-opus-5", "claude-fable-5"],
        }
    }

    pub fn has_progress(self) -> bool {
        matches!(self, Self::Progress | Self::LastFinal)
    }
}
