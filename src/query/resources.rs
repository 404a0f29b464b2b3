//! The cores and the memory that queries may use.

use std::num::NonZeroUsize;

/// Returns the number of cores for queries.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

const GIB: usize = 1 << 30;

/// Returns half of the memory, at most 4 GiB. Queries that need more spill to disk.
pub(super) fn memory_limit() -> usize {
    let installed = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| installed_memory(&text));
    installed.map_or(4 * GIB, |bytes| (bytes / 2).min(4 * GIB))
}

fn installed_memory(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_system() {
        assert_eq!(installed_memory("MemTotal:       24571000 kB\nMemFree: 1 kB"), Some(24_571_000 << 10));
        assert_eq!(installed_memory("nothing"), None);
    }
}
