"""What a shell command did to a repository, and how the tests ended that it ran: by the command, its output and its end."""
import posixpath
import re

import rows

# ---------------------------------------------------------------- commands

HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)\\?(\w+)\1([^\n]*)\n.*?(?:^[ \t]*\2[ \t]*$|\Z)", re.S | re.M)
QUOTED = re.compile(r"\\.|\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:(?<=[\s;])|^)#[^\n]*", re.S | re.M)
WITHIN = re.compile(r"(?:^|(?<=[\s;&|(]))(?:\S*/)?(?:ba|z|da)?sh\s+-\w*c\s+(\"(?:\\.|[^\"\\])*\"|'[^']*')", re.S)
REDIRECTED = re.compile(r"&>>?\s*[^\s;&|]+|\d*>>?\s*&\d|\d*>>?\s*[^\s;&|()]+|<\s*[^\s;&|()<]+")
PREFIX = re.compile(r"(?:\w+=\S*|[!{}]|do|then|else|if|elif|while|until|time|nohup|command|exec|sudo|env|npx|bunx|rtk)$")
WRAPPER = re.compile(r"(?:timeout(?: -\S+)* \S+|nice(?: -n ?\S+| -\d+)?|stdbuf(?: -\S+)*|xvfb-run(?: -\S+)*"
                     r"|(?:npx|bunx|bun x|pnpm (?:exec|dlx)|yarn (?:exec|dlx)|npm exec)(?: -\S*)*|bundle exec|mise (?:exec|x)(?: \S+)* --"
                     r"|(?:uv|poetry|pdm|pipenv|hatch|rye) run(?: --?(?:with|project|directory|group|extra|python|p|C) \S+| -\S+)*) ")


def plain(quoted):
    """A quoted text or comment: kept if it is one word, else only its place."""
    found = quoted[0]
    if found.startswith("#"):
        return ""
    word = found[1:-1] if found[0] in "\"'" else found[1:].strip()
    return word if re.fullmatch(r"[\w./:@=+,-]+", word) else "''"


def programs(command):
    """The programs that a command runs, each with what separates it from the program before."""
    command = HEREDOC.sub(r" \3", command).replace("\\\n", " ")
    for _ in range(3):
        command = WITHIN.sub(lambda match: " ; " + re.sub(r"\\(.)", r"\1", match[1][1:-1]) + " ; ", command)
    command = REDIRECTED.sub(" ", QUOTED.sub(plain, command))
    parts = re.split(r"(&&|\|\||\|&?|;|&|\n|\$?\(|\))", command)
    found = []
    for before, part in zip([";"] + parts[1::2], parts[::2]):
        words = part.split()
        while words:
            wrapper = WRAPPER.match(" ".join(words) + " ")
            if wrapper:
                words = words[len(wrapper[0].split()):]
            elif PREFIX.match(words[0]):
                words = words[1:]
            else:
                break
        if words:
            found.append((before, [posixpath.basename(words[0])] + words[1:]))
    return found


def is_piped(found, place):
    """True if a program's output goes to another program, which then gives the exit code."""
    return place + 1 < len(found) and found[place + 1][0] in ("|", "|&")


# ---------------------------------------------------------------- repositories

LINE = re.compile(r"^\[(?P<branch>[^\]\n]+?)(?: \(root-commit\))? (?P<sha>[0-9a-f]{7,40})\] ", re.M)
PUSHED = re.compile(r"^\s*(?:[+ -]?\s*[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}|\* \[new (?:branch|tag|reference)\]|- \[deleted\])\s+"
                    r"(?:\S+ -> )?(?P<branch>\S+)", re.M)
REBASED = re.compile(r"Successfully rebased and updated (?:refs/heads/(?P<branch>\S+?)|detached HEAD)\.?$", re.M)
REQUEST = re.compile(r"https?://(?:[^\s/@]+@)?([\w.-]+(?::\d+)?/[^\s\"'<>]*?/(?:pull|-/merge_requests|merge_requests)/\d+)")
NOTHING = re.compile(r"nothing (?:added )?to commit|no changes added to commit|Already up.to.date|is up to date|Everything up-to-date"
                     r"|^(?:fatal|error): |^FAILED: git|^CONFLICT |^Aborting|Automatic merge failed", re.M)
REQUESTS = {"create": "pr_create", "new": "pr_create", "edit": "pr_update", "ready": "pr_update", "reopen": "pr_update",
            "update": "pr_update", "review": "pr_review", "approve": "pr_review", "comment": "pr_comment", "note": "pr_comment",
            "merge": "pr_merge", "close": "pr_close"}
WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree", "-R", "--repo")
NO_ACT = {"--abort", "--quit", "--skip", "--dry-run", "-n", "--help", "-h", "--show-current-patch", "--edit-todo"}


def subcommand(words):
    """The words of a git, gh or glab command after its own options."""
    words = words[1:]
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in WITH_VALUE else 1:]
    return words


def asked_of_git(words):
    """What a git command is asked to do: operation or None."""
    verb, rest = words[0], words[1:]
    if verb not in ("commit", "cherry-pick", "revert", "merge", "am", "rebase", "push", "tag"):
        return None
    if NO_ACT.intersection(rest) and not (verb in ("commit", "merge", "cherry-pick", "revert") and "-n" in rest
                                          and not NO_ACT.difference(["-n"]).intersection(rest)):
        return None
    if verb == "tag":
        is_made = any(not word.startswith("-") for word in rest) and \
            not {"-l", "--list", "-d", "--delete", "-v", "--verify", "--contains", "--points-at", "--sort"}.intersection(
                word.split("=")[0] for word in rest)
        return "tag" if is_made and not any(re.match(r"-n\d*$", word) for word in rest) else None
    if verb == "commit":
        return "amend" if "--amend" in rest else "commit"
    return {"am": "commit", "cherry-pick": "cherry_pick"}.get(verb, verb)


def repository(command, output, status, is_open=False):
    """(operations, sha, branch, pull request) of a call; nothing of one that did not succeed. It is open if its exit code is not
    known."""
    if status != "ok":
        return [], None, None, None
    found, operations = programs(command), []
    commits, pushes, rebases = (list(form.finditer(output)) for form in (LINE, PUSHED, REBASED))
    requests = REQUEST.findall(output)
    is_committed = is_pushed = is_rebased = is_asked = False
    for place, (_, words) in enumerate(found):
        rest = subcommand(words)
        is_quiet = not is_open and not NOTHING.search(output) and not is_piped(found, place)  # the exit code says it
        if words[0] == "git" and rest:
            asked = asked_of_git(rest)
            if asked in ("commit", "amend", "cherry_pick", "revert", "merge"):
                is_told = re.search(r"files? changed|^Fast-forward|^Merge made", output, re.M) and not NOTHING.search(output)
                is_done = commits or is_quiet or is_told
                is_committed |= bool(is_done)
            elif asked == "push":
                is_done = is_pushed = bool(pushes) or is_quiet and "rejected]" not in output
            elif asked == "rebase":
                is_done = is_rebased = bool(rebases) or is_quiet
            else:
                is_done = asked == "tag" and is_quiet
            operations += [asked] if asked and is_done else []
        elif words[0] in ("gh", "glab") and rest[:1] in (["pr"], ["mr"]) and not NO_ACT.intersection(rest):
            asked = REQUESTS.get((rest[1:] or [""])[0])
            is_done = requests if asked == "pr_create" else asked and (requests or is_quiet)
            is_asked |= bool(is_done)
            operations += [asked] if is_done else []
    sha, branch = None, None
    if is_committed and commits:
        sha, branch = commits[-1]["sha"], commits[-1]["branch"]
    elif is_pushed and pushes or is_rebased and rebases:
        tags = re.findall(r"\[new tag\]\s+\S+ -> (\S+)", output)
        named = [one["branch"] for one in (pushes if is_pushed else []) or rebases]
        branch = next((name for name in reversed(named) if name and name not in tags), None)
    branch = None if branch in ("detached HEAD", "HEAD") else branch
    return operations, sha, branch, "https://" + requests[-1] if is_asked and requests else None


def forge(tool, output, status):
    """The same of a tool of a forge's MCP server."""
    if status != "ok" or not re.search(r"create_(pull|merge)_request$", tool or ""):
        return None
    requests = REQUEST.findall(output)
    return (["pr_create"], None, None, "https://" + requests[0]) if requests else None


# ---------------------------------------------------------------- tests

RUNNERS = {"pytest", "py.test", "tox", "nox", "nosetests", "gotestsum", "jest", "vitest", "mocha", "ava", "rspec", "phpunit",
           "pest", "ctest", "bats", "jasmine", "karma"}
VERBS = {"go": "test", "deno": "test", "dotnet": "test", "swift": "test", "mix": "test", "bun": "test", "playwright": "test",
         "rails": "test", "flutter": "test", "dart": "test", "zig": "test", "bazel": "test"}
NO_RUN = {"--collect-only", "--co", "--listTests", "--list-tests", "--list", "-list", "--markers", "--fixtures", "--no-run",
          "--help", "-h", "--version"}
NAMED = re.compile(r"(?:.*[:_-])?tests?(?:[:_-].*)?$")


def is_test(words):
    """True if a program runs tests."""
    tool, rest = re.sub(r"(\.cmd|\.exe|\.sh)$", "", words[0]), words[1:]
    if NO_RUN.intersection(rest):
        return False
    named = [word for word in rest if not word.startswith(("-", "+"))]
    if tool in RUNNERS:
        return named[:1] != ["list"]
    if re.fullmatch(r"python[\d.]*", tool):
        module = rest[rest.index("-m") + 1:][:1] if "-m" in rest else []
        return module[0] in RUNNERS | {"unittest"} if module else [posixpath.basename(word) for word in named[:1]] == ["manage.py"] \
            and named[1:2] == ["test"]
    if tool == "cargo":
        return named[:1] in (["test"], ["t"]) or named[:2] == ["nextest", "run"]
    if VERBS.get(tool) and named[:1] == [VERBS[tool]]:
        return "-c" not in rest if tool == "go" else True
    if tool in ("npm", "pnpm", "yarn", "bun"):
        named = [word for word in named if word not in ("run", "run-script")]
        return bool(named) and (named[0] in ("t", "tst") or any(NAMED.match(word) for word in
                                                               (named if any("-" == word[0] for word in rest) or
                                                                named[0] in ("workspace", "workspaces") else named[:1])))
    if tool == "node":
        return "--test" in rest
    if tool in ("mvn", "mvnw", "gradle", "gradlew"):
        return any(re.match(r"(.*:)?test", word) for word in named)
    if tool == "xcodebuild":
        return "test" in named
    if tool == "mise":
        return named[:1] in (["run"], ["r"]) and any(NAMED.match(word) for word in named[1:2])
    return tool in ("make", "just", "rake", "nx", "turbo") and any(NAMED.match(word) for word in named)


def number(found):
    return None if found is None else int(found.replace(",", ""))


def words_of(text):
    """Numbers by their word: `2 failed, 40 passed`."""
    return {word.lower(): number(count) for count, word in re.findall(r"(\d[\d,]*) ([A-Za-z]+)", text)}


def ends(output):
    """The closing lines of test runs: (passed, failed, has failed), with numbers where the runner prints them."""
    found = []

    def add(pattern, read):
        for match in re.finditer(pattern, output, re.M):
            passed, failed, *has_failed = read(match)
            found.append((passed, failed, has_failed[0] if has_failed else bool(failed)))

    def pytest(match):
        counts = words_of(match[1])
        broken = [counts[word] for word in ("failed", "error", "errors") if word in counts]
        passed = counts.get("passed")
        return passed if passed is not None else 0 if broken else None, sum(broken) if broken else 0

    add(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in [\d.]+(?:s|m)", pytest)
    add(r"^test result: \w+\. (\d+) passed; (\d+) failed", lambda match: (number(match[1]), number(match[2])))
    add(r"^\s*Summary \[.*?\]\s+(?:\d+/)?\d+ tests? run: (.*)$",
        lambda match: (words_of(match[1]).get("passed", 0), words_of(match[1]).get("failed", 0)))
    add(r"^\s*Tests:? +(\d+ .*?)(?:\(\d+\))?$", lambda match: (
        words_of(match[1].replace("|", ",")).get("passed", 0), words_of(match[1].replace("|", ",")).get("failed", 0)))
    add(r"^\s*(?:(\d+) passing\b(?:.*\n(?:\s*\d+ pending\n)?\s*(\d+) failing)?|(\d+) failing$)",
        lambda match: (number(match[1]), number(match[2] or match[3]) or 0))
    add(r"^\s*(\d+) pass\n(?:\s*\d+ (?:skip|todo)\n)*\s*(\d+) fail$", lambda match: (number(match[1]), number(match[2])))
    add(r"^(?:#|ℹ) pass (\d+)\n(?:#|ℹ) fail (\d+)", lambda match: (number(match[1]), number(match[2])))
    add(r"^(?:ok|FAILED) \| (\d+) passed.*?\| (\d+) failed", lambda match: (number(match[1]), number(match[2])))
    add(r"^Ran (\d+) tests? in .*\n+(OK|FAILED)(.*)$", unittest)
    add(r"^.*(?:Passed|Failed)!\s+- Failed:\s+(\d+), Passed:\s+(\d+)", lambda match: (number(match[2]), number(match[1])))
    add(r"^(\d+) (?:examples|tests|example|test), (\d+) failures?", lambda match: (int(match[1]) - int(match[2]), number(match[2])))
    add(r"^OK \((\d+) tests?, ", lambda match: (number(match[1]), 0))
    add(r"^\d+% tests passed, (\d+) tests failed out of (\d+)", lambda match: (int(match[2]) - int(match[1]), number(match[1])))
    add(r"^\s*Executed (\d+) tests?, with (\d+) failures?", lambda match: (int(match[1]) - int(match[2]), number(match[2])))
    add(r"^\s*(\d+) failed$", lambda match: (None, number(match[1])))  # Playwright: a list follows, and what passed
    add(r"^\s*(\d+) passed(?: \([\d.]+\w+\))?$", lambda match: (number(match[1]), None))
    add(r"^(?:(FAIL)(?:\s.*)?|ok\s+\S+\s+(?:\(cached\)|[\d.]+s).*)$", lambda match: (None, None, match[1] is not None))
    return found


def unittest(match):
    failed = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", match[3])))
    skipped = sum(map(int, re.findall(r"(?:skipped|expected failures)=(\d+)", match[3])))
    return int(match[1]) - failed - skipped, failed


def tests(command, output, status, is_open=False):
    """(outcome, passed, failed) of a call that runs tests; None of one that runs none, or was not run."""
    found = programs(command)
    places = [place for place, (_, words) in enumerate(found) if is_test(words)]
    if not places or status in ("rejected", "pending"):
        return None
    output = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)
    known = ends(output)
    if known:
        passed, failed = ([end[side] for end in known if end[side] is not None] for side in (0, 1))
        outcome = "failed" if any(end[2] for end in known) else "passed"
        return outcome, sum(passed) if passed else None, sum(failed) if failed else None
    last = places[-1]
    is_last = last == len(found) - 1 or "pipefail" in command and all(one[0] in ("|", "|&") for one in found[last + 1:])
    if status not in ("ok", "error") or is_open or not is_last:
        return "unknown", None, None
    if status == "ok":
        return "passed", None, None
    before = [words[0] for separator, words in found[:last] if words[0] not in ("cd", "export", "set", "source", ".", "echo")]
    return "unknown" if before else "failed", None, None


# ---------------------------------------------------------------- columns

def columns(calls):
    """The columns of shell calls for the script's output; each call is (command, output, status, is open)."""
    calls = [call for call in calls if isinstance(call[0], str)]
    repositories, runs = [repository(*call) for call in calls], [tests(*call) or (None, None, None) for call in calls]
    return rows.tally("tool_calls.git_operations", [one for operations, *_ in repositories for one in operations]) \
        | rows.tally("tool_calls.commit_sha", [one[1] for one in repositories]) \
        | rows.tally("tool_calls.git_branch", [one[2] for one in repositories]) \
        | rows.tally("tool_calls.pull_request", [one[3] for one in repositories]) \
        | rows.tally("tool_calls.test_outcome", [run[0] for run in runs]) \
        | rows.measured("tool_calls.tests_passed", [run[1] for run in runs]) \
        | rows.measured("tool_calls.tests_failed", [run[2] for run in runs])
