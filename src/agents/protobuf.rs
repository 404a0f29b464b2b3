//! Messages of Protocol Buffers, without their schemas.

/// Takes the next field. Returns its number, and its bytes if it has any. `None` if the message is torn.
pub(super) fn next_field<'b>(bytes: &mut &'b [u8]) -> Option<(u64, Option<&'b [u8]>)> {
    let tag = varint(bytes)?;
    let length = match tag & 7 {
        0 => {
            varint(bytes)?;
            return Some((tag >> 3, None));
        }
        1 => 8,
        2 => usize::try_from(varint(bytes)?).ok()?,
        5 => 4,
        _ => return None,
    };
    let (content, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some((tag >> 3, Some(content).filter(|_| tag & 7 == 2)))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
