//! `hours_by_project_day` gives what its description says, computed interval by interval.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use llrem::lake::{AnyLake, Lake};
use llrem::query::Statement;
use llrem::query::canned::Library;

use crate::answers::Questioner;
use crate::common::{Built, Home};
use crate::lake_of_all_fixtures;
use crate::parity::ZONE;

const RECORDS: &str = "
    select
      concat(s.machine, '/', s.agent, '/', s.session_id) as session,
      concat(s.machine, '/', s.agent, '/', s.root_session_id) as root,
      coalesce(s.project, '') as project,
      cast(s.is_subagent or s.kind = 'side_agent' or coalesce(s.entrypoint in ('exec', 'sdk-cli'), false) as bigint)
        as is_unattended,
      r.moment, cast(cast(r.moment as date) as text) as day, r.is_prompt
    from (
      select machine, agent, session_id, timestamp as moment, cast(kind in ('prompt', 'command') as bigint) as is_prompt
      from messages
      union all
      select machine, agent, session_id, ended_at, 0 from tool_calls
    ) r
    join sessions s on s.machine = r.machine and s.agent = r.agent and s.session_id = r.session_id
    where r.moment is not null";

#[derive(Default)]
struct Session {
    root: String,
    project: String,
    /// True for subagents, helpers of the agent and jobs.
    is_unattended: bool,
    /// The day of each moment. Microseconds since 1970.
    days: BTreeMap<i64, String>,
    prompts: BTreeSet<i64>,
}

/// Time between two records of a session.
struct Interval {
    day: String,
    project: String,
    root: String,
    began: i64,
    ended: i64,
    is_person: bool,
    is_agent: bool,
}

fn sessions(questioner: &mut Questioner<'_>) -> BTreeMap<String, Session> {
    let answer = questioner.ask(&Statement { sql: RECORDS.to_owned(), parameters: Vec::new() }).unwrap();
    let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
    let [names, roots, projects, days] = ["session", "root", "project", "day"].map(|name| answer.column(name));
    let mut place = 0;
    for batch in &answer.batches {
        let moments = batch.column_by_name("moment").unwrap().as_primitive::<TimestampMicrosecondType>();
        let [prompts, unattended] =
            ["is_prompt", "is_unattended"].map(|name| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>());
        for row in 0..batch.num_rows() {
            let session = sessions.entry(names[place].clone()).or_default();
            session.root.clone_from(&roots[place]);
            session.project.clone_from(&projects[place]);
            session.is_unattended = unattended.value(row) == 1;
            session.days.insert(moments.value(row), days[place].clone());
            if prompts.value(row) == 1 {
                session.prompts.insert(moments.value(row));
            }
            place += 1;
        }
    }
    sessions
}

fn intervals(sessions: &BTreeMap<String, Session>, pause: i64) -> Vec<Interval> {
    let mut intervals = Vec::new();
    for session in sessions.values() {
        let records: Vec<_> = session.days.iter().collect();
        for pair in records.windows(2) {
            let ((began, day), (ended, _)) = (pair[0], pair[1]);
            if ended - began < pause {
                intervals.push(Interval {
                    day: day.clone(),
                    project: session.project.clone(),
                    root: session.root.clone(),
                    began: *began,
                    ended: *ended,
                    is_person: !session.is_unattended && session.prompts.range(*ended..=began + pause).next().is_some(),
                    is_agent: !session.prompts.contains(ended),
                });
            }
        }
    }
    intervals.retain(|it| it.is_person || it.is_agent);
    intervals
}

/// Returns the hours of a person, of agents, and of agents alone, and the number of sessions.
fn hours(intervals: &[&Interval]) -> [f64; 4] {
    let moments: BTreeSet<i64> = intervals.iter().flat_map(|it| [it.began, it.ended]).collect();
    let moments: Vec<i64> = moments.into_iter().collect();
    let (mut person, mut alone) = (0, 0);
    for pair in moments.windows(2) {
        let during = |it: &&&Interval| it.began <= pair[0] && pair[1] <= it.ended;
        if intervals.iter().filter(during).any(|it| it.is_person) {
            person += pair[1] - pair[0];
        } else if intervals.iter().any(|it| during(&it)) {
            alone += pair[1] - pair[0];
        }
    }
    let agents: i64 = intervals.iter().filter(|it| it.is_agent).map(|it| it.ended - it.began).sum();
    let roots: BTreeSet<&str> = intervals.iter().map(|it| it.root.as_str()).collect();
    #[allow(clippy::cast_precision_loss, reason = "hours of test sessions")]
    [person as f64 / 3.6e9, agents as f64 / 3.6e9, alone as f64 / 3.6e9, roots.len() as f64]
}

#[test]
fn hours_are_those_of_the_intervals_between_records() {
    let home = Home::empty();
    let lake = Built::new(&home, "lake");
    lake_of_all_fixtures(&lake);
    let of_lake = AnyLake::Local(Lake::open(&lake.path).unwrap());
    let mut questioner = Questioner::new(&of_lake, ZONE);
    let sessions = sessions(&mut questioner);
    let library = Library::load(&[]).unwrap();
    let canned = library.queries.iter().find(|canned| canned.name == "hours_by_project_day").unwrap();
    for minutes in [1, 5, 45, 2000] {
        let given = [("pause".to_owned(), minutes.to_string())];
        let statement = canned.bind(&given, ZONE, &|_: &str, _: &str| unreachable!("no moment is given")).unwrap();
        let answer = questioner.ask(&statement).unwrap();
        let columns = ["day", "is_total", "project", "person_hours", "agent_hours", "agents_alone_hours", "sessions"];
        let columns = columns.map(|name| answer.column(name));
        let intervals = intervals(&sessions, minutes * 60_000_000);
        let mut expected: BTreeMap<(String, bool, String), Vec<&Interval>> = BTreeMap::new();
        for interval in &intervals {
            expected.entry((interval.day.clone(), true, String::new())).or_default().push(interval);
            expected.entry((interval.day.clone(), false, interval.project.clone())).or_default().push(interval);
        }
        assert!(answer.rows() > 40, "{minutes} minutes: {} rows", answer.rows());
        assert_eq!(answer.rows(), expected.len(), "{minutes} minutes");
        for row in 0..answer.rows() {
            let [day, is_total, project, numbers @ ..] = columns.each_ref().map(|column| column[row].as_str());
            let key = (day.to_owned(), is_total == "true", project.to_owned());
            let expected = hours(expected.get(&key).unwrap_or_else(|| panic!("{minutes} minutes: {key:?}")));
            for (number, expected) in numbers.into_iter().zip(expected) {
                let number: f64 = number.parse().unwrap();
                assert!((number - expected).abs() < 0.000_001, "{minutes} minutes: {key:?}: {number}, not {expected}");
            }
        }
    }
}
