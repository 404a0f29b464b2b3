//! Test runs: which calls run tests, and how these ended.
//!
//! The runner's last lines decide, because the exit code of a command that is piped is not the runner's.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::closing::Closing;
use super::shell::{self, Joint, Program, unquoted};
use crate::tables::{Status, TestOutcome, ToolCallRow};

/// Outcome of the last test run of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TestRun {
    pub(super) outcome: TestOutcome,
    /// Tests that passed and that failed, if the runner says how many.
    pub(super) passed: Option<i64>,
    pub(super) failed: Option<i64>,
}

/// Arguments that only list or build tests.
const NO_RUN: [&str; 10] =
    ["--collect-only", "--co", "--listTests", "--list", "--markers", "--no-run", "--help", "-h", "--version", "-list"];
/// Exit codes of a shell that could not start a program.
const NOT_EXECUTABLE: i64 = 126;
const NOT_FOUND: i64 = 127;

/// Finds the words of which every runner's command contains one.
static HINTS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(["test", "jest", "mocha", "tox", "nox", "spec", "phpunit", "bats"]).ok());

/// Options of package managers and of `coverage` whose value is the next argument.
const VALUED_OPTIONS: [&str; 18] = [
    "--filter",
    "-F",
    "-C",
    "--prefix",
    "--workspace",
    "--cwd",
    "--with",
    "--with-requirements",
    "--extra",
    "--group",
    "--package",
    "--project",
    "--directory",
    "--env-file",
    "--python",
    "-p",
    "--source",
    "--rcfile",
];

/// Programs whose tasks are named by any argument.
const TASK_RUNNERS: [&str; 14] = [
    "make",
    "just",
    "rake",
    "task",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "nx",
    "xcodebuild",
    "sbt",
    "rails",
    "composer",
    "zig",
];

/// Returns how the tests of a call ended, if it runs any. The row is as recorded, not redacted.
pub(super) fn test_run(row: &ToolCallRow<'_>) -> Option<TestRun> {
    let hints = HINTS.as_ref()?;
    let command = row.command.filter(|command| hints.is_match(*command))?;
    if matches!(row.status, Status::Rejected | Status::Pending) || row.is_denied == Some(true) {
        return None;
    }
    let programs = shell::programs(command);
    let place = programs.iter().rposition(|program| {
        // To `ctest` and Maven, `-V` says to print more.
        let is_version = |word: &str| word == "-V" && !matches!(program.name, "ctest" | "mvn" | "mvnw");
        let runs_nothing = program.arguments.iter().any(|word| NO_RUN.contains(word) || is_version(word));
        !runs_nothing && runs_tests(program.name, &program.arguments)
    })?;
    let closing = Closing::of(row.output.unwrap_or_default());
    let is_failed = closing.is_failed.or_else(|| failed_by_code(&programs, place, row.exit_code?, command));
    let outcome = match is_failed {
        Some(true) => TestOutcome::Failed,
        Some(false) => TestOutcome::Passed,
        None => TestOutcome::Unknown,
    };
    Some(TestRun { outcome, passed: closing.passed, failed: closing.failed })
}

/// Returns whether the tests failed, if the exit code of the command says so.
fn failed_by_code(programs: &[Program<'_>], place: usize, code: i64, command: &str) -> Option<bool> {
    let (before, rest) = programs.split_at_checked(place)?;
    let (runner, after) = rest.split_first()?;
    let is_piped = runner.joint == Joint::Pipe && !command.contains("pipefail");
    let is_not_started = matches!(code, NOT_EXECUTABLE | NOT_FOUND);
    if runner.is_optional || is_piped || is_not_started {
        return None;
    }
    let is_last = after.is_empty() || runner.joint == Joint::Pipe;
    if code == 0 {
        let is_chain = rest.iter().all(|program| matches!(program.joint, Joint::And | Joint::Pipe | Joint::End));
        return is_chain.then_some(false);
    }
    // An earlier program of the chain may have failed instead.
    let chain = before.iter().rev().take_while(|program| program.joint == Joint::And);
    let prepares = |program: &Program<'_>| matches!(program.name, "cd" | "export" | "source" | "." | "set" | "echo");
    (is_last && chain.into_iter().all(prepares)).then_some(true)
}

/// True if a program runs tests with these arguments.
fn runs_tests(name: &str, arguments: &[&str]) -> bool {
    let (mut name, mut arguments) = (name, arguments);
    loop {
        let has = |wanted: &str| arguments.contains(&wanted);
        let from_first = without_options(arguments);
        let (word, rest) = from_first.split_first().map_or(("", &[][..]), |(word, rest)| (unquoted(word), rest));
        match (name, word) {
            ("pytest" | "py.test" | "vitest" | "jest" | "mocha" | "rspec" | "phpunit" | "ctest", _) => return true,
            ("bats" | "tox" | "nox" | "gotestsum" | "ava" | "pest" | "unittest" | "nose2", _) => return true,
            ("cargo", "nextest") => return rest.first() == Some(&"run") || rest.first() == Some(&"r"),
            ("cargo", "test" | "t") => return true,
            ("go", "test") => return !has("-c"),
            ("dotnet" | "swift" | "mix" | "deno" | "bazel" | "flutter" | "dart" | "playwright" | "ng", "test") => {
                return true;
            }
            ("npm", "t" | "tst") => return true,
            ("node", _) => return has("--test"),
            ("uv" | "poetry" | "pipenv" | "hatch" | "rye" | "pdm" | "coverage", "run")
            | ("bundle" | "npm" | "pnpm" | "yarn", "exec" | "dlx") => arguments = without_options(rest),
            ("npx" | "bunx" | "pnpx" | "uvx", _) => arguments = from_first,
            _ if TASK_RUNNERS.contains(&name) => return arguments.iter().any(|word| is_test_task(word)),
            ("npm" | "pnpm" | "yarn" | "bun" | "mise" | "turbo" | "lerna" | "deno", "run" | "task" | "run-script") => {
                return rest.iter().find(|word| !word.starts_with('-')).is_some_and(|word| is_test_task(word));
            }
            ("yarn" | "pnpm" | "npm" | "bun" | "turbo" | "mise", _) if is_test_task(word) => return true,
            ("yarn" | "pnpm", _) => arguments = from_first,
            _ if name == "py" || name.starts_with("python") => {
                let module = arguments.iter().position(|word| *word == "-m");
                match module {
                    Some(module) => arguments = arguments.get(module + 1..).unwrap_or_default(),
                    None => return word.ends_with("manage.py") && rest.first() == Some(&"test"),
                }
            }
            _ => return false,
        }
        let Some((next, after)) = arguments.split_first() else { return false };
        (name, arguments) = (unquoted(next).rsplit('/').next().unwrap_or(next), after);
    }
}

/// Returns the arguments from the first one that is neither an option nor its value.
fn without_options<'a, 'c>(arguments: &'a [&'c str]) -> &'a [&'c str] {
    let mut rest = arguments;
    while let [word, after @ ..] = rest
        && word.starts_with(['-', '+'])
    {
        let is_valued = VALUED_OPTIONS.contains(word);
        rest = if is_valued { after.get(1..).unwrap_or_default() } else { after };
    }
    rest
}

/// True for names such as `test`, `test:unit`, `unit-tests` and `testDebug`.
fn is_test_task(word: &str) -> bool {
    let is_camel = |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_uppercase());
    let mut parts = unquoted(word).split([':', '-', '_', '/', '.']);
    !word.starts_with('-')
        && parts
            .any(|part| matches!(part, "test" | "tests" | "spec") || part.strip_prefix("test").is_some_and(is_camel))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(command: &str, output: &str, exit_code: Option<i64>) -> String {
        let row = ToolCallRow {
            command: Some(command),
            output: Some(output),
            status: if exit_code == Some(0) { Status::Ok } else { Status::Error },
            exit_code,
            ..ToolCallRow::default()
        };
        let Some(TestRun { outcome, passed, failed }) = test_run(&row) else { return "none".to_owned() };
        let [passed, failed] = [passed, failed].map(|count| count.map_or("-".to_owned(), |count| count.to_string()));
        format!("{outcome:?} {passed} {failed}")
    }

    #[test]
    fn the_closing_line_decides() {
        let two_crates =
            "test result: ok. 9 passed; 0 failed; 1 ignored\ntest result: FAILED. 3 passed; 2 failed; 0 ignored";
        let again = "Finished `test` profile\ntest result: FAILED. 1 passed; 1 failed\nFinished `test` profile\ntest result: ok. 2 passed; 0 failed";
        let vitest = "\u{1b}[2m Test Files \u{1b}[22m \u{1b}[31m1 failed\u{1b}[39m (1)\n\u{1b}[2m      Tests \u{1b}[22m \u{1b}[31m1 failed\u{1b}[39m\u{1b}[2m | \u{1b}[22m\u{1b}[32m6 passed\u{1b}[39m (7)";
        for (command, output, expected) in [
            ("pytest -q | tail -1", "=== 2 failed, 40 passed, 1 error in 1.2s ===", "Failed 40 3"),
            ("uv run pytest", "40 passed, 2 warnings in 1.20s", "Passed 40 0"),
            ("python3 -m unittest", "Ran 9 tests in 0.1s\n\nFAILED (failures=1, errors=2)", "Failed 6 3"),
            ("py -m unittest; command -v pytest", "Ran 9 tests in 0.1s\n\nOK", "Passed 9 0"),
            ("ctest -V", "100% tests passed, 0 tests failed out of 8", "Passed - 0"),
            ("time -p mvn -B -V test", "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0", "Passed 3 0"),
            ("python -m unittest", "Ran 9 tests in 0.1s\n\nOK (skipped=1)", "Passed 8 0"),
            ("cargo test --all", two_crates, "Failed 12 2"),
            ("cargo test a; cargo test b", again, "Passed 2 0"),
            (
                "cargo nextest run",
                "     Summary [   1.2s] 67 tests run: 66 passed (1 slow), 1 failed, 0 skipped",
                "Failed 66 1",
            ),
            ("npx vitest run", vitest, "Failed 6 1"),
            ("npm test", "Tests:       1 failed, 1 skipped, 8 passed, 10 total", "Failed 8 1"),
            (
                "bun test src | tail -5",
                " 1606 pass\n 24 fail\n 16 errors\nRan 1630 tests across 96 files. [11.66s]",
                "Failed 1606 24",
            ),
            ("bun run test", " 1309 pass\n 0 fail", "Passed 1309 0"),
            ("yarn mocha", "  8 passing (20ms)\n  1 failing", "Failed 8 1"),
            ("npx playwright test", "  1 failed\n  3 passed (2.1s)", "Failed 3 1"),
            ("node --test", "# tests 5\n# pass 5\n# fail 0", "Passed 5 0"),
            ("go test ./... | tail", "ok  \ta\t0.1s\nFAIL\tb\t0.2s\nFAIL", "Failed - -"),
            ("mise run test:ci | tail", "ok  \ta\t(cached)\nok  \tb\t0.1s", "Passed - -"),
            ("dotnet test", "Failed!  - Failed:     1, Passed:     8, Skipped:     0, Total:     9", "Failed 8 1"),
            ("./mvnw test", "[INFO] Tests run: 10, Failures: 1, Errors: 1, Skipped: 2", "Failed 6 2"),
            ("./gradlew :app:testDebug", "10 tests completed, 2 failed", "Failed 8 2"),
            ("bundle exec rspec", "10 examples, 0 failures, 1 pending", "Passed 9 0"),
            ("vendor/bin/phpunit", "OK (10 tests, 20 assertions)", "Passed 10 0"),
            ("swift test", "Executed 10 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds", "Failed 9 1"),
            ("deno test", "FAILED | 9 passed | 1 failed (12ms)", "Failed 9 1"),
        ] {
            assert_eq!(shown(command, output, Some(0)), expected, "{command}");
        }
    }

    #[test]
    fn without_a_closing_line_the_exit_code_decides() {
        for (command, code, expected) in [
            ("make test", Some(0), "Passed - -"),
            ("cd a && make test 2>&1", Some(2), "Failed - -"),
            ("make test | tail -3", Some(0), "Unknown - -"),
            ("set -o pipefail; make test | tail -3", Some(1), "Failed - -"),
            ("make build && make test", Some(1), "Unknown - -"),
            ("make test && make lint", Some(0), "Passed - -"),
            ("make test && make lint", Some(1), "Unknown - -"),
            ("make test; ls", Some(0), "Unknown - -"),
            ("make test || true", Some(0), "Unknown - -"),
            ("make test", None, "Unknown - -"),
            ("pnpm --filter api test", Some(0), "Passed - -"),
            ("uv run --with httpx -p 3.12 python -m pytest -q", Some(0), "Passed - -"),
            ("uv run -m pytest", Some(1), "Failed - -"),
            ("coverage run --source src -m pytest", Some(0), "Passed - -"),
            ("pytest>out.txt 2>&1", Some(0), "Passed - -"),
            ("npm test>out.txt", Some(1), "Failed - -"),
            ("pytest -q", Some(127), "Unknown - -"),
            ("uv run --with httpx python main.py", Some(0), "none"),
            ("npm --workspace packages/api test", Some(1), "Failed - -"),
            ("pytest --collect-only", Some(0), "none"),
            ("cargo test --no-run", Some(0), "none"),
            ("npm run build", Some(0), "none"),
            ("ls tests && cat test.py", Some(0), "none"),
            ("grep -rn pytest .", Some(0), "none"),
            ("cat > run.sh <<'EOF'\npytest\nEOF", Some(0), "none"),
            ("git commit -m 'npm test'", Some(0), "none"),
            ("test -f a", Some(0), "none"),
        ] {
            assert_eq!(shown(command, "", code), expected, "{command}");
        }
    }

    #[test]
    fn calls_that_did_not_run_have_no_outcome() {
        let row = ToolCallRow { command: Some("pytest"), status: Status::Rejected, ..ToolCallRow::default() };
        assert_eq!(test_run(&row), None);
        let denied = ToolCallRow { status: Status::Error, is_denied: Some(true), ..row.clone() };
        assert_eq!(test_run(&denied), None);
        let stopped = ToolCallRow { status: Status::Interrupted, ..row };
        assert_eq!(test_run(&stopped), Some(TestRun::default()));
    }

    proptest! {
        #[test]
        fn any_text_is_read(command in "(python -m |npx |yarn |pnpm |-m |test|[ -~é])*", output in "([0-9]+ |passed|failed|Tests: | in |OK|Ran |[ -~é\n\u{1b}])*") {
            shown(&command, &output, Some(0));
        }
    }
}
