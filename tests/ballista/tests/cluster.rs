//! A cluster of a scheduler and two executors, each a process of its own, answers over a bucket of two machines as this
//! machine alone does.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "what fails here fails a test")]

#[path = "../../common/mod.rs"]
mod common;
#[path = "../../common/bench.rs"]
mod lake;
#[path = "../../common/machines.rs"]
mod machines;
#[path = "../../upload/proxy.rs"]
#[allow(dead_code, reason = "shared")]
mod proxy;
#[path = "../../common/script.rs"]
mod script;
#[path = "../../upload/server.rs"]
#[allow(dead_code, reason = "shared")]
mod server;

use std::path::PathBuf;
use std::process::Command;

use common::Home;
use common::home::root;
use llrem::query::canned::Library;
use machines::Team;
use script::Scripts;
use server::{S3, Server, free_port};
use tempfile::TempDir;

/// A query that names what stays on each machine.
const OF_A_MACHINE: &str = "data_quality";

struct Cluster {
    scheduler: Server,
    _executors: Vec<Server>,
    folder: TempDir,
}

impl Cluster {
    fn start(s3: &S3) -> Self {
        let folder = lake::folder();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ballista-scheduler"));
        let port = free_port();
        command.args(["--bind-host", "127.0.0.1", "--bind-port", &port.to_string()]);
        s3.set_environment(&mut command);
        let scheduler = Server::start(&mut command, port);
        let executors = ["one", "two"].map(|name| {
            let work = folder.path().join(name);
            std::fs::create_dir(&work).unwrap();
            let ports = [free_port(), free_port(), free_port()].map(|port| port.to_string());
            let mut command = Command::new(env!("CARGO_BIN_EXE_ballista-executor"));
            command.args(["--scheduler-host", "127.0.0.1", "--scheduler-port", &port.to_string()]);
            command.args(["--bind-host", "127.0.0.1", "--external-host", "127.0.0.1", "--vcores", "2"]);
            command.args(["--bind-port", &ports[0], "--bind-grpc-port", &ports[1], "--bind-health-port", &ports[2]]);
            s3.set_environment(command.arg("--work-dir").arg(work));
            Server::start(&mut command, ports[0].parse().unwrap())
        });
        Self { scheduler, _executors: executors.into(), folder }
    }

    fn url(&self) -> String {
        format!("df://127.0.0.1:{}", self.scheduler.port)
    }

    /// Returns the parts of answers that each executor keeps; nothing is left of the steps before the last.
    fn parts(&self) -> [Vec<PathBuf>; 2] {
        ["one", "two"].map(|name| lake::files(&self.folder.path().join(name)))
    }

    /// The program over the bucket, with the cluster.
    fn llrem(&self, team: &Team, arguments: &[&str]) -> Command {
        let mut command = team.llrem(arguments);
        command.args(["--scheduler", &self.url()]).env("DATAFUSION_EXECUTION_TARGET_PARTITIONS", "3");
        command
    }
}

/// Every canned query with its defaults, and detectors also with the parameters of their scripts.
fn questions() -> Vec<Vec<String>> {
    let scripts = Scripts::all(&root().join("tests/detectors"));
    let mut questions = vec![vec!["detect".to_owned()]];
    for canned in Library::load(&[]).unwrap().queries.iter().filter(|canned| canned.name != OF_A_MACHINE) {
        let question = vec!["query".to_owned(), canned.name.clone()];
        if let Some(scripts) = scripts.get(&canned.name).filter(|scripts| !scripts.parameters.is_empty()) {
            let typed = scripts.parameters.iter().map(|(name, value)| format!("--param={name}={value}"));
            questions.push(question.iter().cloned().chain(typed).collect());
        }
        questions.push(question);
    }
    questions
}

const MORE: [&str; 6] = [
    "select machine, agent, count(*), sum(total_tokens), sum(round(cost_usd * 1e9)) / 1e9 from usage group by machine, agent order by machine, agent",
    "select * from messages order by machine, agent, month, session_id, seq, source_line",
    "select cast(date_trunc('day', timestamp) as date) as day, count(*) from usage group by day order by day",
    "select * from usage where 1 = 2",
    "select count(*) from usage join prices on usage.model_key = prices.model",
    "select detector, count(*), sum(wasted_tokens) from findings group by detector order by detector",
];

#[test]
fn a_cluster_answers_as_one_machine_does() {
    let team = Team::of(&["claude-code", "codex"].map(Home::merged));
    let cluster = Cluster::start(&team.s3);
    let zone = ["--timezone", "America/St_Johns"].map(str::to_owned);
    let more = MORE.map(|sql| vec!["sql".to_owned(), sql.to_owned()]);
    lake::in_parallel([questions(), more.to_vec()].concat(), |question| {
        let question: Vec<&str> = question.iter().chain(&zone).map(String::as_str).collect();
        let here = lake::succeed(&mut team.llrem(&question)).stdout;
        let there = lake::succeed(&mut cluster.llrem(&team, &question)).stdout;
        let [here, there] = [here, there].map(|output| String::from_utf8(output).unwrap());
        assert!(here.lines().count() > 0, "{question:?}");
        assert_eq!(there, here, "{question:?}");
    });
    let parts = cluster.parts();
    assert!(parts.iter().all(|files| !files.is_empty()), "one executor did nothing: {parts:?}");
}

#[test]
fn a_scheduler_that_is_not_there_is_named() {
    let bench = lake::Bench::new();
    bench.transcript("a.jsonl", lake::Transcript::new("a", "2025-08-05T10:00:00Z").prompt("build").text());
    bench.extract();
    let url = format!("df://127.0.0.1:{}", free_port());
    let output = bench.llrem(&["sql", "select count(*) from usage", "--scheduler", &url]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = lake::stderr(&output);
    assert!(said.starts_with(&format!("error: cannot reach the scheduler `{url}`: Connection refused")), "{said}");
    assert!(said.lines().count() <= 3, "{said}");
}
