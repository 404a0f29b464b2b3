//! URIs of folders, as VS Code and editors built on it write them.

/// Returns the path in a URI, whatever machine it is on; `None` if it has no path. A text without a scheme is a path.
pub(super) fn path_of_uri(uri: &str) -> Option<String> {
    let Some((_, rest)) = uri.split_once("://") else { return Some(uri.to_owned()).filter(|path| !path.is_empty()) };
    let path = rest.get(rest.find('/')?..)?;
    let path = decoded(path);
    let after_slash = path.strip_prefix('/').unwrap_or(&path);
    let has_drive = after_slash.as_bytes().get(1) == Some(&b':')
        && after_slash.bytes().next().is_some_and(|letter| letter.is_ascii_alphabetic());
    Some(if has_drive { after_slash.to_owned() } else { path }).filter(|path| !path.is_empty())
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let is_escape = |digits: &&[u8]| *first == b'%' && digits.iter().all(u8::is_ascii_hexdigit);
        let hex = after.get(..2).filter(is_escape).and_then(|digits| std::str::from_utf8(digits).ok());
        match hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_uris() {
        for (uri, path) in [
            ("file:///w/my%20app", Some("/w/my app")),
            ("file:///c%3A/Users/kim/app", Some("c:/Users/kim/app")),
            ("vscode-remote://ssh-remote%2Bbox/srv/app", Some("/srv/app")),
            ("vscode-remote://wsl%2BUbuntu/home/kim/100%", Some("/home/kim/100%")),
            ("file:///w/100%+5", Some("/w/100%+5")),
            ("/w/app", Some("/w/app")),
            ("untitled://", None),
            ("", None),
        ] {
            assert_eq!(path_of_uri(uri).as_deref(), path, "{uri}");
        }
    }
}
