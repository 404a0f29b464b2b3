//! The scheduler of a cluster for queries that are too large for one machine.

use std::fmt::{self, Display, Formatter};
use std::num::NonZeroUsize;

use url::Url;

use crate::{Error, Result, shown};

/// Default port of a scheduler, as in Ballista's own program.
const PORT: u16 = 50050;
/// Default number of parts into which a cluster divides reads, sorts, groups and joins, as in Ballista.
const PARTITIONS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// The scheduler of a Ballista cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduler {
    host: String,
    port: u16,
    partitions: NonZeroUsize,
}

impl Display for Scheduler {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "df://{}:{}", self.host, self.port)
    }
}

impl Scheduler {
    /// Parses `df://HOST:PORT`. Does not connect.
    ///
    /// # Errors
    /// Fails with [`Error::Usage`] if the URL is invalid, or if this llrem was built without Ballista.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || Error::Usage(format!("`{}` names no scheduler; write df://HOST:PORT", shown::url(text)));
        let url = Url::parse(text).map_err(|_| wrong())?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let is_bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if url.scheme() != "df" || !matches!(url.path(), "" | "/") || !is_bare || url.fragment().is_some() {
            return Err(wrong());
        }
        if !cfg!(feature = "ballista") {
            return Err(Error::Usage(
                "this llrem was built without clusters; build one with them: cargo install --path . --locked --features ballista"
                    .to_owned(),
            ));
        }
        Ok(Self { host: host.to_owned(), port: url.port().unwrap_or(PORT), partitions: PARTITIONS })
    }

    /// Sets the number of parts into which the cluster divides its work. They run in parallel as far as it has cores.
    #[must_use]
    pub fn with_partitions(self, partitions: NonZeroUsize) -> Self {
        Self { partitions, ..self }
    }

    /// Returns its URL.
    #[cfg(feature = "ballista")]
    pub(super) fn address(&self) -> String {
        format!("http://{}", self.socket())
    }

    /// Returns its host and port.
    #[cfg(feature = "ballista")]
    pub(super) fn socket(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Returns the number of parts into which the cluster divides its work.
    #[cfg(feature = "ballista")]
    pub(super) fn partitions(&self) -> usize {
        self.partitions.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_scheduler() {
        for text in
            ["", "host:50050", "http://h:1", "df://", "df://:1", "df://h:1/x", "df://u:p@h:1", "df://h?x", "df://h:x"]
        {
            assert!(matches!(Scheduler::parse(text), Err(Error::Usage(_))), "{text}");
        }
        assert!(!Scheduler::parse("df://u:canary@h:1").unwrap_err().to_string().contains("canary"));
    }

    #[cfg(feature = "ballista")]
    #[test]
    fn a_scheduler_may_name_its_port() {
        let address = |text| Scheduler::parse(text).unwrap().address();
        assert_eq!(address("df://team.example.org:50051"), "http://team.example.org:50051");
        assert_eq!(address("df://10.0.0.1/"), "http://10.0.0.1:50050");
        assert_eq!(address("df://[::1]:9"), "http://[::1]:9");
    }

    #[cfg(not(feature = "ballista"))]
    #[test]
    fn without_ballista_it_says_how_to_get_it() {
        insta::assert_snapshot!(
            Scheduler::parse("df://h:1").unwrap_err(),
            @"this llrem was built without clusters; build one with them: cargo install --path . --locked --features ballista"
        );
    }
}
