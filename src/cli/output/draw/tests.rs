use super::super::cell::Cell;
use super::super::grid::Column;
use super::super::paint::Paint;
use super::{Drawn, Grid, Look, Role};
use crate::shown::Signs;

fn look(width: usize) -> Look {
    Look { width: Some(width), paint: Paint(false), signs: Signs::UNICODE }
}

/// Days with amounts of several sizes.
fn by_day() -> Grid {
    let kinds = ["input", "cache read", "cache write", "output"].map(|name| Column::new(name, Role::TokensOfKind));
    let first = [("day", Role::Whole), ("cost", Role::Money), ("sessions", Role::Number), ("responses", Role::Number)];
    let columns = first.map(|(name, role)| Column::new(name, role)).into_iter().chain(kinds);
    let mut grid = Grid::new(columns.chain([Column::new("last used", Role::Whole)]).collect());
    let row = |day: &str, cost: Cell, tokens: [Option<i64>; 4]| {
        let counts = [Cell::count(1), Cell::count(1_447)];
        let tokens = tokens.map(|tokens| Cell::or_unknown(tokens, Cell::tokens));
        let last = Cell::text(if day == "total" { "" } else { "2026-07-17" });
        [Cell::text(day), cost].into_iter().chain(counts).chain(tokens).chain([last]).collect::<Vec<_>>()
    };
    grid.push(row("Wed 2026-04-22", Cell::unknown(), [Some(83_800), None, Some(0), Some(25_550)]));
    grid.push(row("Sun 2026-05-10", Cell::usd(0.008), [Some(0), Some(1_000), Some(0), Some(50)]));
    grid.push(row("Thu 2026-06-18", Cell::usd(3.72), [Some(215_499), Some(3_627_648), Some(0), Some(27_593)]));
    grid.push(row("Fri 2026-06-19", Cell::usd(0.0), [Some(0), None, Some(0), Some(0)]));
    grid.set_total(row("total", Cell::usd(3.728).at_least(), [Some(299_299), Some(3_628_648), Some(0), Some(53_193)]));
    grid.set_bars(1);
    grid
}

fn shown(drawn: &Drawn) -> String {
    format!("{}\n{}", drawn.text, drawn.notes.join("\n"))
}

#[test]
fn amounts_align_at_the_point_and_bars_fill_the_room() {
    insta::assert_snapshot!(shown(&by_day().draw(look(130))), @r"
    day                cost  sessions  responses    input  cache read  cache write  output  last used
    Wed 2026-04-22      –           1      1,447   83,800           –            0  25,550  2026-07-17
    Sun 2026-05-10  $0.0080         1      1,447        0       1,000            0      50  2026-07-17  ▏
    Thu 2026-06-18  $3.72           1      1,447  215,499   3,627,648            0  27,593  2026-07-17  ████████████████████████
    Fri 2026-06-19      0           1      1,447        0           –            0       0  2026-07-17
    ──────────────────────────────────────────────────────────────────────────────────────────────────
    total           $3.73+          1      1,447  299,299   3,628,648            0  53,193
    ");
}

#[test]
fn tokens_become_short_then_one_column_then_columns_leave() {
    insta::assert_snapshot!(shown(&by_day().draw(look(103))), @r"
    day                cost  sessions  responses    input  cache read  cache write  output  last used
    Wed 2026-04-22      –           1      1,447   83,800           –            0  25,550  2026-07-17
    Sun 2026-05-10  $0.0080         1      1,447        0       1,000            0      50  2026-07-17
    Thu 2026-06-18  $3.72           1      1,447  215,499   3,627,648            0  27,593  2026-07-17
    Fri 2026-06-19      0           1      1,447        0           –            0       0  2026-07-17
    ──────────────────────────────────────────────────────────────────────────────────────────────────
    total           $3.73+          1      1,447  299,299   3,628,648            0  53,193
    ");
    insta::assert_snapshot!(shown(&by_day().draw(look(80))), @r"
    day                cost  sessions  responses     tokens  last used
    Wed 2026-04-22      –           1      1,447    109,350  2026-07-17
    Sun 2026-05-10  $0.0080         1      1,447      1,050  2026-07-17  ▏
    Thu 2026-06-18  $3.72           1      1,447  3,870,740  2026-07-17  ███████████
    Fri 2026-06-19      0           1      1,447          0  2026-07-17
    ───────────────────────────────────────────────────────────────────
    total           $3.73+          1      1,447  3,981,140

    tokens: input, cache read, cache write, output together
    ");
    insta::assert_snapshot!(shown(&by_day().draw(look(52))), @r"
    day                cost  sessions  responses  tokens
    Wed 2026-04-22      –           1      1,447    109k
    Sun 2026-05-10  $0.0080         1      1,447   1.05k
    Thu 2026-06-18  $3.72           1      1,447   3.87M
    Fri 2026-06-19      0           1      1,447       0
    ────────────────────────────────────────────────────
    total           $3.73+          1      1,447   3.98M

    tokens: input, cache read, cache write, output together
    no room for last used
    ");
    insta::assert_snapshot!(shown(&by_day().draw(look(26))), @r"
    day                cost
    Wed 2026-04-22      –
    Sun 2026-05-10  $0.0080
    Thu 2026-06-18  $3.72
    Fri 2026-06-19      0
    ───────────────────────
    total           $3.73+

    no room for sessions, responses, tokens, last used
    ");
    assert!(shown(&by_day().draw(look(5))).contains("Wed 2026-04-22      –\n"));
}

#[test]
fn a_column_with_a_total_stays() {
    let mut grid = by_day();
    let at = grid.columns.iter().position(|column| column.name == "cache write").unwrap();
    grid.total.as_mut().unwrap()[at] = Cell::text("6");
    assert_eq!(grid.leave_out_empty(), Vec::<String>::new());
}

#[test]
fn columns_without_values_are_left_out_and_named() {
    let mut grid = by_day();
    assert_eq!(grid.leave_out_empty(), ["left out, all zero: cache write"]);
    insta::assert_snapshot!(shown(&grid.draw(look(80))), @r"
    day                cost  sessions  responses     tokens  last used
    Wed 2026-04-22      –           1      1,447    109,350  2026-07-17
    Sun 2026-05-10  $0.0080         1      1,447      1,050  2026-07-17  ▏
    Thu 2026-06-18  $3.72           1      1,447  3,870,740  2026-07-17  ███████████
    Fri 2026-06-19      0           1      1,447          0  2026-07-17
    ───────────────────────────────────────────────────────────────────
    total           $3.73+          1      1,447  3,981,140

    tokens: input, cache read, output together
    ");
}

#[test]
fn a_long_key_has_a_line_of_its_own() {
    let mut grid = Grid::new(vec![Column::new("model", Role::Text), Column::new("cost", Role::Money)]);
    grid.push(vec![Cell::text("gpt-5.5"), Cell::usd(1_234.5)]);
    grid.push(vec![Cell::text("lm_studio/qwen3.6-35b-a3b-uncensored"), Cell::unknown()]);
    grid.push(vec![Cell::text("修复登录页面"), Cell::usd(0.000_01)]);
    insta::assert_snapshot!(shown(&grid.draw(look(40))), @r"
    model                cost
    gpt-5.5       $1,234.50
    lm_studio/qwen3.6-35b-a3b-uncensored
                          –
    修复登录页面     <$0.0001
    ");
    insta::assert_snapshot!(shown(&grid.draw(Look { signs: Signs::ASCII, ..look(100) })), @r"
    model                                        cost
    gpt-5.5                               $1,234.50
    lm_studio/qwen3.6-35b-a3b-uncensored          -
    修复登录页面                             <$0.0001
    ");
}

#[test]
fn texts_are_cut_or_wrapped_and_figures_are_whole() {
    let columns = [("id", Role::Whole), ("explanation", Role::Text), ("duration", Role::Number)];
    let mut grid = Grid::new(columns.map(|(name, role)| Column::new(name, role)).to_vec());
    let text = "Eleven words that take more room than there is in here";
    grid.push(vec![Cell::text("53ea1606"), Cell::text(text), Cell::millis(4_800_000)]);
    grid.push(vec![Cell::text("d703a1a9"), Cell::text("short"), Cell::millis(0)]);
    insta::assert_snapshot!(shown(&grid.draw(look(48))), @r"
    id        explanation                   duration
    53ea1606  Eleven words that take mo…  1 h 20 min
    d703a1a9  short                                0
    ");
    grid.set_wrapping();
    grid.set_indent(2);
    insta::assert_snapshot!(shown(&grid.draw(look(48))), @r"
    id        explanation                 duration
    53ea1606  Eleven words that take    1 h 20 min
              more room than there is
              in here
    d703a1a9  short                              0
    ");
    insta::assert_snapshot!(shown(&grid.draw(Look { width: None, ..look(0) })), @r"
    id        explanation                                               duration
    53ea1606  Eleven words that take more room than there is in here  1 h 20 min
    d703a1a9  short                                                            0
    ");
}

#[test]
fn one_row_is_drawn_vertically() {
    let mut grid = by_day();
    grid.rows.truncate(1);
    insta::assert_snapshot!(grid.draw_vertically(look(80)), @r"
    day          Wed 2026-04-22
    cost                      –
    sessions                  1
    responses             1,447
    input                83,800
    cache read                –
    cache write               0
    output               25,550
    last used        2026-07-17
    ");
}

#[test]
fn colours_repeat_what_is_said() {
    let mut grid = Grid::new(vec![Column::new("a", Role::Text), Column::new("n", Role::Number)]);
    grid.push(vec![Cell::text("x"), Cell::count(0)]);
    grid.push(vec![Cell::text("y"), Cell::count(12)]);
    grid.set_total(vec![Cell::text("total"), Cell::count(12)]);
    let text = grid.draw(Look { paint: Paint(true), ..look(12) }).text;
    insta::assert_snapshot!(text.replace('\u{1b}', "^"), @r"
    ^[2ma   n^[0m
    x  ^[2m 0^[0m
    y  12
    ^[2m─────^[0m
    ^[1mtotal^[0m  ^[1m12^[0m
    ");
}
