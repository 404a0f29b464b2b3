//! Finds what a tool call did to a repository, from its command, output and status.
//!
//! A command alone does not say that something happened, and an output alone not what the call did. Where the output says
//! nothing of an operation, the exit code 0 does.

use std::borrow::Cow;

use super::evidence::{Evidence, is_number, is_sha, lines, pull_request_in};
use super::shell::{self, unquoted};
use crate::tables::{Category, GitOperation, Status, ToolCallRow};

/// Operations of a tool call on a repository.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes<'a> {
    /// The operations, in order.
    pub(super) operations: Vec<GitOperation>,
    /// The last commit that it made.
    pub(super) commit_sha: Option<&'a str>,
    /// The branch of the commit, else of the push or the rebase.
    pub(super) git_branch: Option<&'a str>,
    /// URL of the pull request, without user, query and fragment.
    pub(super) pull_request: Option<Cow<'a, str>>,
}

use GitOperation::{
    Amend, CherryPick, Commit, Merge, PrClose, PrComment, PrCreate, PrMerge, PrReview, PrUpdate, Push, Rebase, Revert,
    Tag,
};

fn commits(operation: GitOperation) -> bool {
    matches!(operation, Commit | Amend | CherryPick | Revert | Merge)
}

fn is_on_pull_request(operation: GitOperation) -> bool {
    matches!(operation, PrCreate | PrUpdate | PrReview | PrComment | PrMerge | PrClose)
}

/// Tools of MCP servers, by the end of their names.
const TOOLS: [(&str, GitOperation); 14] = [
    ("create_pull_request", PrCreate),
    ("create_merge_request", PrCreate),
    ("update_pull_request", PrUpdate),
    ("update_pull_request_branch", PrUpdate),
    ("update_merge_request", PrUpdate),
    ("create_pull_request_review", PrReview),
    ("create_and_submit_pull_request_review", PrReview),
    ("submit_pending_pull_request_review", PrReview),
    ("pull_request_review_write", PrReview),
    ("approve_merge_request", PrReview),
    ("create_merge_request_note", PrComment),
    ("merge_pull_request", PrMerge),
    ("merge_merge_request", PrMerge),
    ("accept_merge_request", PrMerge),
];

/// Returns what a call did to a repository. The row is as recorded, not redacted.
pub(super) fn changes<'a>(row: &ToolCallRow<'a>) -> Changes<'a> {
    if row.status != Status::Ok || row.exit_code.is_some_and(|code| code != 0) {
        return Changes::default();
    }
    let output = row.output.unwrap_or_default();
    match row.command {
        Some(command)
            if ["git ", "git.exe ", "gh ", "gh.exe ", "glab "].iter().any(|program| command.contains(program)) =>
        {
            of_command(command, output, row.exit_code == Some(0))
        }
        Some(_) => Changes::default(),
        None if row.name.ends_with("git_commit") => of_commit(output),
        None if row.category == Category::Mcp || row.mcp_server.is_some() => of_tool(row.name, output),
        None => Changes::default(),
    }
}

fn of_command<'a>(command: &'a str, output: &'a str, is_success: bool) -> Changes<'a> {
    let programs = shell::programs(command);
    let steps: Vec<Step<'_, '_>> = programs.iter().filter_map(Step::of).collect();
    if steps.is_empty() {
        return Changes::default();
    }
    let evidence = Evidence::of(output);
    let steps: Vec<Step<'_, '_>> = steps.into_iter().filter(|step| step.happened(&evidence, is_success)).collect();
    let has = |is_wanted: fn(GitOperation) -> bool| steps.iter().any(|step| is_wanted(step.operation));
    let commit = evidence.commit.filter(|_| has(commits));
    let push = evidence.push.filter(|_| has(|operation| operation == Push));
    let rebase = evidence.rebase.filter(|_| has(|operation| operation == Rebase));
    let touched = steps.iter().rev().find(|step| is_on_pull_request(step.operation));
    Changes {
        operations: steps.iter().map(|step| step.operation).collect(),
        commit_sha: commit.map(|(sha, _)| sha),
        git_branch: commit.and_then(|(_, branch)| branch).or(push).or(rebase).filter(|branch| !branch.is_empty()),
        pull_request: touched.and_then(|step| step.pull_request(&evidence)),
    }
}

/// A commit whose hash is the last word of the output that can be one.
fn of_commit(output: &str) -> Changes<'_> {
    let mut words = output.split(|letter: char| !letter.is_ascii_alphanumeric());
    let commit_sha = words.rfind(|word| is_sha(word));
    Changes { operations: commit_sha.map(|_| Commit).into_iter().collect(), commit_sha, ..Changes::default() }
}

fn of_tool<'a>(name: &str, output: &'a str) -> Changes<'a> {
    let Some((_, operation)) = TOOLS.iter().find(|(tool, _)| name.ends_with(tool)) else { return Changes::default() };
    let url = lines(output).find_map(pull_request_in);
    if url.is_none() && *operation == PrCreate {
        return Changes::default();
    }
    Changes { operations: vec![*operation], pull_request: url, ..Changes::default() }
}

/// An operation that a command asks for.
struct Step<'p, 'c> {
    operation: GitOperation,
    arguments: &'p [&'c str],
    program: &'c str,
    is_optional: bool,
}

impl<'p, 'c> Step<'p, 'c> {
    fn of(program: &'p shell::Program<'c>) -> Option<Self> {
        let (operation, arguments) = match program.name {
            "git" => git(&program.arguments)?,
            "gh" => forge(&program.arguments, "pr", gh)?,
            "glab" => forge(&program.arguments, "mr", glab)?,
            _ => return None,
        };
        let is_help = arguments.iter().any(|word| matches!(*word, "-h" | "--help"));
        let step = Self { operation, arguments, program: program.name, is_optional: program.is_optional };
        (!is_help).then_some(step)
    }

    /// True if the output shows it, or if the command succeeded and the output shows nothing else.
    fn happened(&self, evidence: &Evidence<'_>, is_success: bool) -> bool {
        let is_sure = is_success && !self.is_optional && !evidence.has_error;
        match self.operation {
            Commit | Amend | CherryPick | Revert => evidence.commit.is_some() || (is_sure && !evidence.is_unchanged),
            Merge => evidence.is_merged || (is_sure && !evidence.is_unmerged),
            Rebase => evidence.rebase.is_some() || (is_sure && !evidence.is_unmerged),
            Push => evidence.push.is_some() || (is_sure && !evidence.is_unpushed),
            Tag | GitOperation::Unlisted(_) => is_sure,
            PrCreate => evidence.url().is_some(),
            PrUpdate | PrReview | PrComment | PrMerge | PrClose => evidence.url_line.is_some() || is_sure,
        }
    }

    /// Returns the URL of its pull request: from the arguments, else from the output.
    fn pull_request<'a>(&self, evidence: &Evidence<'a>) -> Option<Cow<'a, str>>
    where
        'c: 'a,
    {
        if self.operation == PrCreate {
            return evidence.url();
        }
        let target = self.arguments.iter().map(|word| unquoted(word)).find(|word| !word.starts_with('-'));
        let number = target.map(|word| word.trim_start_matches('#')).filter(|word| is_number(word));
        target
            .and_then(pull_request_in)
            .or_else(|| {
                let repository = option(self.arguments, "-R", "--repo").filter(|_| self.program == "gh")?;
                let host = if repository.matches('/').count() == 1 { "github.com/" } else { "" };
                pull_request_in(&format!("https://{host}{repository}/pull/{}", number?))
                    .map(|url| url.into_owned().into())
            })
            .or_else(|| evidence.url_line.clone())
    }
}

/// Returns the value of an option.
fn option<'c>(arguments: &[&'c str], short: &str, long: &str) -> Option<&'c str> {
    let place = arguments.iter().position(|word| *word == short || word.split('=').next() == Some(long))?;
    let word = arguments.get(place)?;
    word.split_once('=').map(|(_, value)| value).or(arguments.get(place + 1).copied()).map(unquoted)
}

/// Returns the subcommand of a program, and the arguments after it. `valued` are options with a value.
fn subcommand<'p, 'c>(arguments: &'p [&'c str], valued: &[&str]) -> Option<(&'c str, &'p [&'c str])> {
    let mut rest = arguments;
    loop {
        let (word, after) = rest.split_first()?;
        rest = if valued.contains(word) { after.get(1..)? } else { after };
        if !word.starts_with('-') {
            return Some((unquoted(word), rest));
        }
    }
}

fn git<'p, 'c>(arguments: &'p [&'c str]) -> Option<(GitOperation, &'p [&'c str])> {
    let valued = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"];
    let (name, arguments) = subcommand(arguments, &valued)?;
    let has = |options: &[&str]| arguments.iter().any(|word| options.contains(word));
    let stops = has(&["--abort", "--quit", "--show-current-patch", "--edit-todo", "--dry-run"]);
    let operation = match name {
        "commit" if has(&["--amend"]) => Amend,
        "commit" | "am" => Commit,
        "cherry-pick" if !has(&["-n", "--no-commit"]) => CherryPick,
        "revert" if !has(&["-n", "--no-commit"]) => Revert,
        "merge" if !has(&["--squash", "--no-commit"]) => Merge,
        "rebase" => Rebase,
        "push" if !has(&["-n"]) => Push,
        "tag" if makes_tag(arguments) => Tag,
        _ => return None,
    };
    (!stops).then_some((operation, arguments))
}

fn makes_tag(arguments: &[&str]) -> bool {
    const OTHERS: [&str; 13] = [
        "-l",
        "--list",
        "-d",
        "--delete",
        "-v",
        "--verify",
        "--contains",
        "--no-contains",
        "--points-at",
        "--merged",
        "--no-merged",
        "--sort",
        "--format",
    ];
    let is_other = |word: &&str| OTHERS.contains(&word.split('=').next().unwrap_or_default());
    let is_name = |word: &&str| !word.starts_with(['-', '>', '<']) && !word.contains('>');
    !arguments.iter().any(is_other) && arguments.iter().any(is_name)
}

fn forge<'p, 'c>(
    arguments: &'p [&'c str],
    noun: &str,
    verbs: fn(&str, &[&str]) -> Option<GitOperation>,
) -> Option<(GitOperation, &'p [&'c str])> {
    let valued = ["-R", "--repo"];
    let (_, rest) = subcommand(arguments, &valued).filter(|(name, _)| *name == noun)?;
    let (verb, rest) = subcommand(rest, &valued)?;
    let is_done = !rest.iter().any(|word| matches!(*word, "--dry-run" | "-w" | "--web"));
    Some((verbs(verb, rest).filter(|_| is_done)?, rest))
}

fn gh(verb: &str, arguments: &[&str]) -> Option<GitOperation> {
    Some(match verb {
        "create" | "new" => PrCreate,
        "edit" | "ready" | "reopen" | "update-branch" => PrUpdate,
        "review" => PrReview,
        "comment" => PrComment,
        // Merges later.
        "merge" if arguments.iter().any(|word| matches!(*word, "--auto" | "--disable-auto")) => PrUpdate,
        "merge" => PrMerge,
        "close" => PrClose,
        _ => return None,
    })
}

fn glab(verb: &str, _: &[&str]) -> Option<GitOperation> {
    Some(match verb {
        "create" | "new" => PrCreate,
        "update" | "reopen" | "rebase" => PrUpdate,
        "approve" | "revoke" => PrReview,
        "note" | "comment" => PrComment,
        "merge" | "accept" => PrMerge,
        "close" => PrClose,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tables::Vocabulary;

    fn call<'a>(command: &'a str, output: &'a str) -> ToolCallRow<'a> {
        ToolCallRow {
            name: "Bash",
            category: Category::Shell,
            command: Some(command),
            output: Some(output),
            status: Status::Ok,
            exit_code: Some(0),
            ..ToolCallRow::default()
        }
    }

    /// Operations, commit, branch and pull request in one text.
    fn shown(row: &ToolCallRow<'_>) -> String {
        let Changes { operations, commit_sha, git_branch, pull_request } = changes(row);
        let rest = [commit_sha, git_branch, pull_request.as_deref()].map(|text| text.unwrap_or("-"));
        let operations: Vec<&str> = operations.into_iter().map(Vocabulary::as_str).collect();
        format!("{} {}", operations.join(","), rest.join(" "))
    }

    #[test]
    fn operations_of_commands() {
        let url = "https://github.com/ana/api/pull/42";
        let merge_request = "https://gitlab.com/ana/api/-/merge_requests/3";
        let created = format!("\n!3 fix: a (fix)\n {merge_request}\n");
        let linked = format!("{url}\nWarning: 1 uncommitted change");
        let commented = format!("{url}#issuecomment-1");
        let with_user = "https://ana:hunter2@github.com/ana/api/pull/42?token=x";
        let rejected =
            "To github.com:ana/api.git\n ! [rejected]  main -> main (fetch first)\nerror: failed to push some refs";
        let both = "[fix/login 4be1c02] fix\n 2 files changed\nTo github.com:ana/api.git\n * [new branch]  fix/login -> fix/login";
        let fetched = "From github.com:ana/api\n   aaaa111..bbbb222  main -> origin/main\nEverything up-to-date";
        for (command, output, expected) in [
            ("git commit -m x", "[fix/login 4be1c02] fix: a\n 2 files changed", "commit 4be1c02 fix/login -"),
            ("git commit -m x", "[main (root-commit) 4be1c02] a", "commit 4be1c02 main -"),
            ("git commit -m x", "[detached HEAD 4be1c02] a", "commit 4be1c02 - -"),
            ("git add . && git commit -qm x", "", "commit - - -"),
            ("git commit -qm x || true", "", " - - -"),
            ("git commit -m x | cat", "On branch main\nnothing to commit, working tree clean", " - - -"),
            ("git commit --amend --no-edit", "[main 4be1c02] a\n Date: x", "amend 4be1c02 main -"),
            ("git -C ../tree -c a.b=c commit -m x", "[tree 4be1c02] a", "commit 4be1c02 tree -"),
            ("git commit -am x && git push", both, "commit,push 4be1c02 fix/login -"),
            ("git push 2>&1 | tail", rejected, " - - -"),
            ("git push", "To x\n   ef8b447..030d80d  main -> main", "push - main -"),
            ("git push", "To x\n + c89828d7...6de19d48 HEAD -> next (forced update)", "push - next -"),
            ("git push origin v1", "To x\n * [new tag]  v1 -> v1", "push - - -"),
            ("git push origin :old", "To x\n - [deleted]  old", "push - - -"),
            ("git push -n", "To x\n   ef8b447..030d80d  main -> main", " - - -"),
            ("git pull && git push", fetched, " - - -"),
            ("gh pr create -t x -b \"$(cat <<'EOF'\ngit commit\nEOF\n)\"", &linked, &format!("pr_create - - {url}")),
            ("URL=$(gh pr create --fill); echo \"made $URL\"", &format!("made {url}"), &format!("pr_create - - {url}")),
            ("gh pr create --fill", with_user, &format!("pr_create - - {url}")),
            ("gh pr create --fill", "no commits between main and fix", " - - -"),
            ("gh pr comment 42 --repo ana/api -b x", &commented, &format!("pr_comment - - {url}")),
            ("gh pr merge 42 -R ana/api --squash", "", &format!("pr_merge - - {url}")),
            ("gh pr merge --squash", "", "pr_merge - - -"),
            ("gh pr review https://github.com/ana/api/pull/42 --approve", "", &format!("pr_review - - {url}")),
            ("gh pr view 42", &linked, " - - -"),
            ("glab mr create --fill", &created, &format!("pr_create - - {merge_request}")),
            ("glab mr note 3 -m x", &created, &format!("pr_comment - - {merge_request}")),
            ("git merge-base main HEAD", "4be1c02", " - - -"),
            ("git merge main", "Already up to date.", " - - -"),
            ("git merge main", "Merge made by the 'ort' strategy.", "merge - - -"),
            ("git merge --abort", "", " - - -"),
            ("git rebase main", "Rebasing (1/2)\rSuccessfully rebased and updated refs/heads/fix.", "rebase - fix -"),
            ("git cherry-pick a1", "[main 4be1c02] a\n Date: x", "cherry_pick 4be1c02 main -"),
            ("git revert --no-edit a1", "[main 4be1c02] Revert", "revert 4be1c02 main -"),
            ("git tag v1 && git tag -l 'v*'", "v1", "tag - - -"),
            ("git tag --sort=-x | head", "v1", " - - -"),
            ("git tag --sort version:refname", "v1", " - - -"),
            ("grep -r \"git commit\" .", "[main 4be1c02] a", " - - -"),
            ("cat <<EOF\ngit commit -m x\nEOF", "[main 4be1c02] a", " - - -"),
            ("./test.sh # git commit", "[main 4be1c02] a", " - - -"),
            ("git checkout -- a && git log", "[main 4be1c02] a", " - - -"),
            ("git commit -m x", r#"{"output":"[main 4be1c02] a \"b\"\n 1 file changed"}"#, "commit 4be1c02 main -"),
            ("git commit -m x", "Output: [main 4be1c02] a", "commit 4be1c02 main -"),
        ] {
            assert_eq!(shown(&call(command, output)), expected, "{command}");
        }
    }

    #[test]
    fn calls_that_did_not_succeed_did_nothing() {
        let call = call("git commit -m x", "[main 4be1c02] a");
        for status in Status::ALL.iter().copied().filter(|status| *status != Status::Ok) {
            assert_eq!(changes(&ToolCallRow { status, ..call.clone() }), Changes::default(), "{status:?}");
        }
        assert_eq!(changes(&ToolCallRow { exit_code: Some(1), ..call.clone() }), Changes::default());
        let unknown = ToolCallRow { exit_code: None, ..call };
        assert_eq!(shown(&unknown), "commit 4be1c02 main -");
        assert_eq!(shown(&ToolCallRow { output: None, ..unknown }), " - - -");
    }

    #[test]
    fn operations_of_tools() {
        let tool = |name, category, output| {
            shown(&ToolCallRow { name, category, output: Some(output), status: Status::Ok, ..ToolCallRow::default() })
        };
        let made = r#"{"url":"https://api.github.com/repos/ana/api/pulls/42","html_url":"https://github.com/ana/api/pull/42"}"#;
        let url = "https://github.com/ana/api/pull/42";
        assert_eq!(tool("mcp__github__create_pull_request", Category::Mcp, made), format!("pr_create - - {url}"));
        assert_eq!(tool("github.update_pull_request", Category::Mcp, made), format!("pr_update - - {url}"));
        assert_eq!(tool("mcp__github__create_pull_request", Category::Mcp, "refused"), " - - -");
        assert_eq!(tool("mcp__github__get_pull_request", Category::Mcp, made), " - - -");
        assert_eq!(tool("create_pull_request", Category::Other, made), " - - -");
        assert_eq!(tool("git_commit", Category::Other, "4be1c02"), "commit 4be1c02 - -");
    }

    proptest! {
        #[test]
        fn any_text_is_read(command in "(git |gh pr |glab mr |commit|push|[ -~é\n])*", output in r"(\[a |\]|https://|/pull/|[ -~é\n])*") {
            let found = changes(&call(&command, &output));
            prop_assert!(found.commit_sha.is_none_or(is_sha));
        }
    }
}
