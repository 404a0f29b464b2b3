//! Compressed texts in files and databases, with bounds on their unpacked size.

use std::io::{self, Cursor, Read};

use super::{Lines, MAX_LINE};

/// Smallest and largest bound on what a compressed file unpacks to. Bytes.
const UNPACKED: [u64; 2] = [256 << 20, 2 << 30];

/// Largest compression ratio of a file in between: logs shrink to a hundredth, sessions much less.
const FILE_RATIO: u64 = 64;

/// Like [`FILE_RATIO`], for a record, of which a database may have any number.
const RECORD_RATIO: u64 = 200;

/// Returns the bound for a file of this compressed size. Bytes.
pub(super) fn most_of(compressed: u64) -> u64 {
    let [least, most] = UNPACKED;
    compressed.saturating_mul(FILE_RATIO).clamp(least, most)
}

/// Returns the lines of a text in a database, compressed by Zstandard or not.
pub(crate) fn lines_of_blob(blob: Vec<u8>, is_compressed: bool) -> io::Result<Lines<'static>> {
    let bytes = blob.len() as u64;
    let blob = Cursor::new(blob);
    if !is_compressed {
        return Ok(Lines::new(Box::new(blob), bytes, &|_| ()));
    }
    let decoder = zstd::stream::read::Decoder::new(blob)?;
    Ok(Lines::unpacked(Box::new(decoder), most_of(bytes)))
}

/// Decompresses a record of a database.
///
/// # Errors
/// Fails if it is damaged, or longer than a line may be.
pub(crate) fn decompress(blob: &[u8]) -> io::Result<Vec<u8>> {
    let most = (blob.len() as u64).saturating_mul(RECORD_RATIO).clamp(MAX_SMALL, MAX_LINE as u64);
    let mut bytes = Vec::new();
    zstd::stream::read::Decoder::new(blob)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "more is compressed in it than is read"));
    }
    Ok(bytes)
}

/// Smallest bound of a record: a few bytes can mean a page of spaces. Bytes.
const MAX_SMALL: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_compressed_comes_back_and_a_bomb_does_not() {
        let compress = |bytes: &[u8]| zstd::stream::encode_all(bytes, 3).unwrap();
        assert_eq!(decompress(&compress(b"{}")).unwrap(), b"{}");
        assert!(decompress(&compress(&vec![b' '; MAX_LINE + 1])).is_err());
        assert!(decompress(b"no frame").is_err());
        let mut lines = lines_of_blob(compress(b"a\nb\n"), true).unwrap();
        assert_eq!(lines.next_line().unwrap().bytes, b"a");
        assert_eq!(lines.next_line().unwrap().bytes, b"b");
        assert!(lines.next_line().is_none());
    }
}
