//! `llrem status` and its own reading of the lake agree with the rows.

use std::collections::{BTreeMap, BTreeSet};

use llrem::lake::{Lake, Spent};
use llrem::time::parse_iso;
use serde_json::Value;

use super::common::{Built, Home};

const DAY: i64 = 86_400_000_000;

#[expect(clippy::cast_possible_truncation, reason = "no response costs billions")]
fn nanos(usd: f64) -> i64 {
    (usd * 1e9).round() as i64
}

#[test]
fn the_cost_of_each_day_is_that_of_its_rows() {
    for agent in ["claude-code", "codex", "cursor", "copilot-cli", "aider", "droid"] {
        let home = Home::merged(agent);
        let built = Built::full(&home);
        let rows = built.rows();
        let moment = |row: &Value, column: &str| row[column].as_str().and_then(parse_iso);
        let sessions = rows.values("sessions");
        let starts: BTreeMap<&str, Option<i64>> =
            sessions.iter().map(|row| (row["session_id"].as_str().unwrap(), moment(row, "started_at"))).collect();
        let mut expected: BTreeMap<i64, Spent> = BTreeMap::new();
        for row in rows.values("usage") {
            let at = moment(&row, "timestamp").or_else(|| starts[row["session_id"].as_str().unwrap()]);
            let Some(at) = at else { continue };
            let sum = expected.entry(at.div_euclid(DAY)).or_default();
            match row["cost_usd"].as_f64() {
                Some(usd) => sum.nanos = Some(sum.nanos.unwrap_or(0) + nanos(usd)),
                None => sum.unpriced += 1,
            }
        }
        assert!(!expected.is_empty(), "{agent}");
        let lake = Lake::open(&built.path).unwrap();
        let days: BTreeSet<i64> = expected.keys().flat_map(|day| [day - 1, *day, day + 1]).collect();
        for day in days {
            let spent = lake.spent(day * DAY..(day + 1) * DAY).unwrap();
            assert_eq!(spent.get(agent), expected.get(&day), "{agent}, day {day}");
        }
    }
}
