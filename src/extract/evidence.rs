//! Traces of commits, pushes and pull requests in the output of a call.

use std::borrow::Cow;

/// Begins what git says after a rebase.
const REBASED: &str = "Successfully rebased and updated ";

/// Operations on a repository that an output shows.
#[derive(Default)]
pub(super) struct Evidence<'a> {
    /// The last commit: its hash and branch.
    pub(super) commit: Option<(&'a str, Option<&'a str>)>,
    /// The branch of the last push; empty if it names none.
    pub(super) push: Option<&'a str>,
    /// The branch of the last rebase; empty if it names none.
    pub(super) rebase: Option<&'a str>,
    pub(super) is_merged: bool,
    /// True if a commit, merge, rebase or push found nothing to do, stopped or was refused.
    pub(super) is_unchanged: bool,
    pub(super) is_unmerged: bool,
    pub(super) is_unpushed: bool,
    pub(super) has_error: bool,
    /// Last line that is the URL of a pull request.
    pub(super) url_line: Option<Cow<'a, str>>,
    /// Last such URL within a line.
    url_within: Option<Cow<'a, str>>,
}

impl<'a> Evidence<'a> {
    pub(super) fn of(output: &'a str) -> Self {
        let has = |texts: &[&str]| texts.iter().any(|text| output.contains(text));
        let mut evidence = Self {
            is_unchanged: has(&["nothing to commit", "nothing added to commit", "no changes added to commit"])
                || has(&["Aborting commit"]),
            is_unmerged: has(&["Already up to date", "Already up-to-date", " is up to date."])
                || has(&["not updating HEAD", "stopped before committing"]),
            is_unpushed: has(&["Everything up-to-date", "[rejected]", "[remote rejected]"]),
            ..Self::default()
        };
        let (has_rebase, has_url) = (has(&[REBASED]), has(&["https://"]));
        let mut is_fetch = None;
        for line in lines(output) {
            evidence.commit = commit_in(line).or(evidence.commit);
            is_fetch = match line {
                _ if line.starts_with("To ") => Some(false),
                _ if line.starts_with("From ") => Some(true),
                _ => is_fetch,
            };
            if is_fetch != Some(true)
                && let Some(branch) = pushed_in(line, is_fetch.is_some())
            {
                evidence.push = Some(branch);
            }
            if has_rebase && let Some((_, reference)) = line.split_once(REBASED) {
                let branch = reference.trim_end_matches('.').strip_prefix("refs/heads/");
                evidence.rebase = Some(branch.unwrap_or_default());
            }
            evidence.note(line);
            if has_url && let Some(url) = pull_request_in(line) {
                let is_alone = !line.trim().contains(char::is_whitespace);
                *(if is_alone { &mut evidence.url_line } else { &mut evidence.url_within }) = Some(url);
            }
        }
        evidence
    }

    fn note(&mut self, line: &str) {
        self.is_merged |= line.starts_with("Merge made by") || line.trim() == "Fast-forward";
        self.has_error |= ["fatal:", "error:", "FAILED: git"].iter().any(|text| line.starts_with(text));
        if line.starts_with("CONFLICT") {
            (self.is_unchanged, self.is_unmerged) = (true, true);
        }
    }

    pub(super) fn url(&self) -> Option<Cow<'a, str>> {
        self.url_line.clone().or_else(|| self.url_within.clone())
    }
}

/// Splits an output into lines. In an output that is JSON, its texts are lines.
pub(super) fn lines(output: &str) -> impl Iterator<Item = &str> {
    let is_json = output.starts_with('{') || output.starts_with("[{");
    let lines: Box<dyn Iterator<Item = &str>> = if is_json {
        Box::new(output.split(['\n', '\r', '"']).flat_map(|text| text.split("\\n")))
    } else {
        let ends = memchr::memchr2_iter(b'\n', b'\r', output.as_bytes()).chain([output.len()]);
        let mut from = 0;
        Box::new(ends.map(move |end| output.get(std::mem::replace(&mut from, end + 1)..end).unwrap_or_default()))
    };
    lines.map(|line| line.strip_prefix("Output: ").unwrap_or(line))
}

/// Reads `[main 4be1c02] subject`: the hash and the branch.
fn commit_in(line: &str) -> Option<(&str, Option<&str>)> {
    let (names, subject) = line.strip_prefix('[')?.split_once(']')?;
    let (branch, sha) = names.rsplit_once(' ').filter(|(_, sha)| is_sha(sha) && subject.starts_with(' '))?;
    let (branch, root) = branch.split_once(' ').unwrap_or((branch, ""));
    match root {
        "" => Some((sha, Some(branch))),
        "HEAD" => Some((sha, None)),
        _ => root.starts_with('(').then_some((sha, Some(branch))),
    }
}

/// Reads ` * [new branch] fix -> fix` and `4be1c02..030d80d  main -> main`: the branch; empty for a tag and for
/// a deletion.
fn pushed_in(line: &str, is_push: bool) -> Option<&str> {
    let line = line.trim_start();
    let (flag, rest) = line.split_once(' ').filter(|(flag, _)| matches!(*flag, "*" | "+" | "-")).unwrap_or(("", line));
    if flag == "-" && rest.starts_with("[deleted]") {
        return Some("");
    }
    let (left, right) = rest.split_once(" -> ")?;
    let (from, to) = (left.split_whitespace().next_back()?, right.split_whitespace().next()?);
    let is_tag = left.starts_with("[new tag]");
    let (range, _) = left.split_once(' ')?;
    let is_range = range.split_once("..").is_some_and(|(old, new)| is_hex(old) && is_hex(new.trim_start_matches('.')));
    let is_fetch = !is_push && (to.starts_with("origin/") || to == "FETCH_HEAD");
    if is_fetch || !(is_range || is_tag || left.starts_with("[new ")) {
        return None;
    }
    let branch = if from == "HEAD" { to } else { from };
    Some(if is_tag { "" } else { branch.trim_start_matches("refs/heads/") })
}

fn is_hex(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn is_sha(text: &str) -> bool {
    (7..=40).contains(&text.len()) && is_hex(text)
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the first URL of a pull request or merge request in a line, without user, query and fragment.
pub(super) fn pull_request_in(line: &str) -> Option<Cow<'_, str>> {
    let mut rest = line;
    while let Some((_, after)) = rest.split_once("https://") {
        let end = after.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-._~/@:%+".contains(letter)));
        let (url, next) = after.split_at_checked(end.unwrap_or(after.len()))?;
        rest = next;
        let paths = ["/pull/", "/-/merge_requests/"];
        let Some((place, path)) = paths.iter().find_map(|path| Some((url.find(path)?, path))) else { continue };
        let digits = url.get(place + path.len()..)?;
        let count = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        let (host, folders) = url.get(..place)?.split_once('/')?;
        let is_end = digits.get(count..)?.chars().next().is_none_or(|letter| matches!(letter, '/' | '.' | ':'));
        if count == 0 || !is_end || folders.is_empty() {
            continue;
        }
        let whole = url.get(..place + path.len() + count)?;
        return Some(match host.rsplit_once('@') {
            Some((user, _)) => format!("https://{}", whole.get(user.len() + 1..)?).into(),
            None => {
                let from = line.len() - rest.len() - url.len() - "https://".len();
                line.get(from..from + "https://".len() + whole.len())?.into()
            }
        });
    }
    None
}
