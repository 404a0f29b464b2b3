//! Messages of Protocol Buffers, without their schemas.

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'b> {
    Number(u64),
    /// A text, a message, or a packed list.
    Bytes(&'b [u8]),
    /// A number of a fixed size.
    Fixed,
}

impl<'b> Value<'b> {
    pub(super) fn bytes(self) -> Option<&'b [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }
}

/// Takes the next field. Returns its number, and its bytes if it has any. `None` if the message is torn.
pub(super) fn next_field<'b>(bytes: &mut &'b [u8]) -> Option<(u64, Option<&'b [u8]>)> {
    next_value(bytes).map(|(number, value)| (number, value.bytes()))
}

/// Takes the next field. Returns its number and value. `None` if the message is torn.
fn next_value<'b>(bytes: &mut &'b [u8]) -> Option<(u64, Value<'b>)> {
    let tag = varint(bytes)?;
    let length = match tag & 7 {
        0 => return Some((tag >> 3, Value::Number(varint(bytes)?))),
        1 => 8,
        2 => usize::try_from(varint(bytes)?).ok()?,
        5 => 4,
        _ => return None,
    };
    let (content, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some((tag >> 3, if tag & 7 == 2 { Value::Bytes(content) } else { Value::Fixed }))
}

/// The values of a field, up to where the message is torn.
pub(super) fn values(mut bytes: &[u8], field: u64) -> impl Iterator<Item = Value<'_>> {
    let fields = std::iter::from_fn(move || if bytes.is_empty() { None } else { next_value(&mut bytes) });
    fields.filter(move |(number, _)| *number == field).map(|(_, value)| value)
}

/// The first number of a field.
pub(super) fn number(bytes: &[u8], field: u64) -> Option<u64> {
    values(bytes, field).find_map(|value| if let Value::Number(number) = value { Some(number) } else { None })
}

/// The numbers of a field, packed or not.
pub(super) fn numbers(bytes: &[u8], field: u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    for value in values(bytes, field) {
        match value {
            Value::Number(number) => numbers.push(number),
            Value::Bytes(mut packed) => numbers.extend(std::iter::from_fn(|| varint(&mut packed))),
            Value::Fixed => {}
        }
    }
    numbers
}

/// The first message below a message, by a path of fields.
pub(super) fn message<'b>(bytes: &'b [u8], path: &[u64]) -> Option<&'b [u8]> {
    path.iter().try_fold(bytes, |bytes, field| values(bytes, *field).find_map(Value::bytes))
}

/// The first text of a field; none if it is empty.
pub(super) fn text(bytes: &[u8], field: u64) -> Option<&str> {
    let texts = values(bytes, field).filter_map(Value::bytes).filter_map(|bytes| std::str::from_utf8(bytes).ok());
    texts.into_iter().find(|text| !text.is_empty())
}

/// True if all of a message can be read.
pub(super) fn is_whole(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        if next_value(&mut bytes).is_none() {
            return false;
        }
    }
    true
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `{1: 150, 2: "a", 3: {1: 7}}`
    const MESSAGE: [u8; 10] = [0x08, 0x96, 0x01, 0x12, 0x01, 0x61, 0x1a, 0x02, 0x08, 0x07];

    #[test]
    fn values_by_their_numbers() {
        assert_eq!((number(&MESSAGE, 1), text(&MESSAGE, 2)), (Some(150), Some("a")));
        assert_eq!(message(&MESSAGE, &[3]).and_then(|inner| number(inner, 1)), Some(7));
        assert_eq!((numbers(&MESSAGE, 1), numbers(&MESSAGE, 3)), (vec![150], vec![8, 7]));
        assert_eq!((number(&MESSAGE, 2), text(&MESSAGE, 1), message(&MESSAGE, &[3, 1])), (None, None, None));
    }

    #[test]
    fn a_torn_message_gives_what_comes_before() {
        let torn = &MESSAGE[..8];
        assert!(is_whole(&MESSAGE) && !is_whole(torn));
        assert_eq!((number(torn, 1), message(torn, &[3])), (Some(150), None));
    }
}
