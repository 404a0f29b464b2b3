//! `cascade/<id>.pb`: a conversation, encrypted. That it is there, its size and its time are all that is known.

use std::io::Read;

use crate::extract::{Reject, Sink};
use crate::source::Source;

/// Bytes that are looked at.
const HEAD: u64 = 4096;
/// A shorter file cannot show whether it is encrypted. Bytes.
const SHORTEST: usize = 1024;
/// Entropy that only what is encrypted or compressed has. Bits a byte.
const OPAQUE: f64 = 7.5;

/// Refuses the conversation for what it is. An empty file holds none; one that is plain after all is a problem, not a
/// guess.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut head = Vec::new();
    source.reader()?.take(HEAD).read_to_end(&mut head).map_err(Reject::Io)?;
    if head.is_empty() {
        return Ok(());
    }
    if head.len() >= SHORTEST && entropy(&head) < OPAQUE {
        out.line();
        out.problem(1, "a conversation that is not encrypted, in a form that is not known");
        return Ok(());
    }
    Err(Reject::Encrypted)
}

/// Bits a byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let all = f64::from(counts.iter().sum::<u32>());
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / all);
    shares.map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_random_is_opaque() {
        let even: Vec<u8> = (0..4096_u32).map(|at| u8::try_from(at % 256).unwrap()).collect();
        assert!((entropy(&even) - 8.0).abs() < 1e-9);
        assert!(entropy("{\"text\":\"words are not random\"}".repeat(60).as_bytes()) < OPAQUE);
    }
}
