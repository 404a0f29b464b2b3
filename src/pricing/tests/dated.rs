//! Prices by day.

use super::*;

#[test]
fn the_day_decides() {
    let tokens = Tokens { input: MILLION, output: MILLION, ..used() };
    assert_usd(cost_on("o3", &tokens, "2025-06-09"), 50.0);
    assert_usd(cost_on("o3", &tokens, "2025-06-10"), 10.0);
    assert_usd(cost("o3", &tokens), 10.0);
    assert_usd(cost_on("deepseek-chat", &tokens, "2025-09-05"), 1.37);
    assert_usd(cost_on("deepseek-chat", &tokens, "2025-09-06"), 2.24);
    assert_usd(cost_on("deepseek/deepseek-chat", &tokens, "2025-09-29"), 0.7);
    assert_usd(cost_on("grok-code-fast-1", &tokens, "2025-10-01"), 1.7);
    let reads = Tokens { cache_read: MILLION, ..used() };
    assert_usd(cost_on("claude-sonnet-5-5", &reads, "2026-10-06"), 0.2);
    assert_usd(cost_on("claude-sonnet-5-5", &reads, "2026-10-07"), 0.1);
    let long = Tokens { input: 300_000, ..used() };
    assert_usd(cost_on("claude-sonnet-4-6", &long, "2026-03-12"), 1.8);
    assert_usd(cost_on("claude-sonnet-4-6", &long, "2026-03-13"), 0.9);
}

#[test]
fn a_name_that_moves_costs_what_it_meant_on_the_day() {
    let tokens = Tokens { input: MILLION, output: MILLION, is_sum: true, ..used() };
    let usd = |model, on| cost_on(model, &tokens, on);
    assert_usd(usd("gemini-flash-latest", "2026-01-20"), 2.8);
    assert_usd(usd("gemini-flash-latest", "2026-01-21"), 3.5);
    assert_usd(usd("gemini-flash-latest", "2026-05-19"), 10.5);
    assert_usd(usd("gemini-flash-latest", "2026-07-21"), 9.0);
    assert_usd(usd("gemini-flash-latest", "2026-08-13"), 4.5);
    assert_usd(usd("gemini-pro-latest", "2026-01-20"), 11.25);
    assert_usd(usd("gemini-pro-latest", "2026-01-21"), 14.0);
    assert_usd(usd("mistral-medium-latest", "2025-05-06"), 10.8);
    assert_usd(usd("mistral-medium-latest", "2025-05-07"), 2.4);
    assert_usd(usd("mistral-medium-latest", "2026-05-22"), 9.0);
    assert_usd(usd("mistral-large-latest", "2024-09-16"), 12.0);
    assert_usd(usd("mistral-large-latest", "2024-09-17"), 8.0);
    assert_usd(usd("mistral-large-latest", "2025-12-02"), 2.0);
    assert_usd(usd("grok-4-latest", "2026-05-15"), 18.0);
    assert_usd(usd("grok-4-latest", "2026-05-16"), 3.75);
}

#[test]
fn a_shared_price_has_the_tiers_and_the_long_context_of_the_other_model() {
    let long = Tokens { input: 300_000, cache_read: 100_000, ..used() };
    assert_usd(cost_on("gemini-pro-latest", &long, "2025-10-14"), 0.3 * 2.5 + 0.1 * 0.625);
    assert_usd(cost_on("gemini-pro-latest", &long, "2025-10-15"), 0.3 * 2.5 + 0.1 * 0.25);
    let priority = Tokens { input: 100_000, tier: Some("priority"), ..used() };
    assert_usd(cost_on("gemini-pro-latest", &priority, "2026-01-20"), 0.225);
}

#[test]
fn earlier_prices_of_gpt_5_6_have_tiers() {
    let tokens = |tier| Tokens { input: 100_000, output: 100_000, tier: Some(tier), ..used() };
    let on = |model, tier| cost_on(model, &tokens(tier), "2026-07-20");
    assert_usd(on("gpt-5.6-sol", "priority"), 7.0);
    assert_usd(on("gpt-5.6-sol", "flex"), 1.75);
    assert_usd(on("gpt-5.6-terra", "priority"), 3.5);
    assert_usd(on("gpt-5.6-terra", "flex"), 0.875);
    assert_usd(on("gpt-5.6-terra", "batch"), 0.875);
    assert_usd(on("gpt-5.6-luna", "priority"), 1.4);
    assert_usd(on("gpt-5.6-luna", "flex"), 0.35);
    assert_usd(on("gpt-5.6-luna", "batch"), 0.35);
}

#[test]
fn a_price_names_the_days_that_it_holds() {
    let table = PriceTable::bundled();
    let before = table.price("o3", None, day("2025-05-01")).expect("o3 is priced");
    let after = table.price("o3", None, None).expect("o3 is priced");
    assert_eq!((before.valid_from, before.valid_until), (None, day("2025-06-10")));
    assert_eq!((after.valid_from, after.valid_until), (day("2025-06-10"), None));
}

#[test]
fn periods_join_without_gap_or_overlap() {
    for model in &PriceTable::bundled().models {
        for pair in model.periods.windows(2) {
            assert_eq!(pair[0].until, pair[1].from, "{}", model.key);
        }
        assert!(model.periods.first().is_none_or(|first| first.from.is_none()));
        assert!(model.periods.last().is_none_or(|last| last.until.is_none()));
    }
}
