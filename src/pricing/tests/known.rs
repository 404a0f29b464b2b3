//! Bills the list prices of `known.tsv`.

use super::{MILLION, Tokens, day, shared};

const KNOWN: &str = include_str!("../known.tsv");

/// A million tokens of each kind, in the order of the columns. A sum of requests has no long context.
fn a_million_of_each_kind() -> [Tokens<'static>; 5] {
    let sum = Tokens { is_sum: true, ..Tokens::default() };
    [
        Tokens { input: MILLION, ..sum },
        Tokens { cache_read: MILLION, ..sum },
        Tokens { cache_write_5m: MILLION, ..sum },
        Tokens { cache_write_1h: MILLION, ..sum },
        Tokens { output: MILLION, ..sum },
    ]
}

#[test]
fn known_list_prices_are_billed_on_their_day() {
    let mut wrong = Vec::new();
    let mut rows = KNOWN.lines().filter(|line| !line.starts_with('#'));
    let columns: Vec<&str> = rows.next().expect("a header").split('\t').collect();
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let [on, model, rates @ .., _source] = &fields[..] else { panic!("{row}") };
        assert_eq!(fields.len(), columns.len(), "{row}");
        for ((rate, tokens), kind) in rates.iter().zip(a_million_of_each_kind()).zip(&columns[2..]) {
            if *rate == "-" {
                continue;
            }
            let listed: f64 = rate.parse().expect(row);
            let billed = shared().cost(&tokens, model, None, day(on)).map(|cost| cost.usd);
            if billed.is_none_or(|billed| (billed - listed).abs() > 1e-9) {
                wrong.push(format!("{on} {model} {kind}: listed {listed}, billed {billed:?}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}
