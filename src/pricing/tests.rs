use chrono::NaiveDate;
use proptest::prelude::*;

use super::*;
use crate::tables::{PriceKind, PriceTier};

mod dated;
mod known;
mod refresh;

const MILLION: u64 = 1_000_000;

#[test]
fn the_bundled_files_parse() {
    let table = PriceTable::read_bundled().expect("prices.json and dated.toml are well formed");
    assert!(table.models.len() > 2_000);
    for model in &table.models {
        let listed = model.listing.read().expect(&model.key);
        assert_eq!(listed.is_some(), model.listing.is_priced(), "{}", model.key);
    }
    let whole: serde_json::Value = serde_json::from_str(include_str!("prices.json")).expect("prices.json is JSON");
    assert_eq!(whole["models"].as_object().map(serde_json::Map::len), Some(table::bundled().len()));
}

#[test]
fn every_flagship_is_priced() {
    let flagships = [
        "claude-opus-4-20250514",
        "claude-opus-4-1-20250805",
        "claude-opus-4-5-20251101",
        "claude-opus-4-6",
        "claude-opus-4-7",
        "claude-opus-4-8",
        "claude-opus-5",
        "claude-opus-5-5",
        "claude-sonnet-4-20250514",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-6",
        "claude-sonnet-5",
        "claude-sonnet-5-5",
        "claude-haiku-4-5-20251001",
        "claude-haiku-5-5",
        "claude-fable-5",
        "claude-fable-5-1",
        "claude-fable-5-2",
        "claude-3-5-sonnet-20240620",
        "claude-3-7-sonnet-20250219",
        "claude-3-opus",
        "claude-sonnet-4.6",
        "claude-opus-4.8",
        "claude-haiku-4.5",
        "gpt-4o",
        "gpt-4o-mini",
        "gpt-4.1",
        "gpt-5",
        "gpt-5-mini",
        "gpt-5-codex",
        "gpt-5.1",
        "gpt-5.1-codex",
        "gpt-5.2",
        "gpt-5.2-codex",
        "gpt-5.3-codex",
        "gpt-5.4",
        "gpt-5.4-mini",
        "gpt-5.5",
        "gpt-5.6-sol",
        "gpt-5.6-luna",
        "gpt-6-sol",
        "o3",
        "o4-mini",
        "gemini-2.5-pro",
        "gemini-2.5-flash",
        "gemini-3-flash-preview",
        "gemini/gemini-2.5-pro-preview-05-06",
        "xai/grok-code-fast-1",
        "grok-code-fast-1",
        "xai/grok-3-beta",
        "xai/grok-beta",
        "deepseek/deepseek-chat",
    ];
    let table = PriceTable::bundled();
    let missing: Vec<_> = flagships.into_iter().filter(|model| table.price(model, None, None).is_none()).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn opus_4_costs_its_list_price() {
    let tokens = Tokens { input: 1_000, cache_read: 100_000, cache_write_5m: 10_000, output: 2_000, ..used() };
    // 0.001 × 15 + 0.1 × 1.5 + 0.01 × 18.75 + 0.002 × 75
    assert_usd(cost("claude-opus-4-20250514", &tokens), 0.5025);
}

#[test]
fn opus_4_5_is_cheaper_than_opus_4() {
    let tokens = Tokens { input: MILLION, output: MILLION, ..used() };
    assert_usd(cost("claude-opus-4-5-20251101", &tokens), 30.0);
    assert_usd(cost("claude-opus-4-5", &tokens), 30.0);
    assert_usd(cost("claude-opus-4-1", &tokens), 90.0);
    assert_usd(cost("claude-opus-4", &tokens), 90.0);
}

#[test]
fn an_hour_of_cache_costs_more_than_five_minutes() {
    assert_usd(cost("claude-sonnet-4-6", &Tokens { cache_write_5m: 100_000, ..used() }), 0.375);
    assert_usd(cost("claude-sonnet-4-6", &Tokens { cache_write_1h: 100_000, ..used() }), 0.6);
    assert_usd(cost("claude-3-opus", &Tokens { cache_write_1h: 100_000, ..used() }), 3.0);
}

#[test]
fn the_long_context_rate_is_for_the_whole_request_and_strictly_over_the_threshold() {
    let prompt_of = |input| Tokens { input, cache_read: 90_000, cache_write_5m: 10_000, output: 1_000, ..used() };
    // 0.1 × 3 + 0.09 × 0.3 + 0.01 × 3.75 + 0.001 × 15
    assert_usd(cost("claude-sonnet-4-5", &prompt_of(100_000)), 0.3795);
    assert_usd(cost("claude-sonnet-4-5", &prompt_of(99_999)), 0.379_497);
    // 0.100001 × 6 + 0.09 × 0.6 + 0.01 × 7.5 + 0.001 × 22.5
    assert_usd(cost("claude-sonnet-4-5", &prompt_of(100_001)), 0.751_506);
    assert_usd(cost("claude-opus-4-8", &prompt_of(900_000)), 900.0 * 0.005 + 0.045 + 0.0625 + 0.025);
}

#[test]
fn a_sum_of_requests_has_no_long_context() {
    let tokens = Tokens { input: 400_000, ..used() };
    assert_usd(cost("claude-sonnet-4-5", &tokens), 2.4);
    assert_usd(cost("claude-sonnet-4-5", &Tokens { is_sum: true, ..tokens }), 1.2);
}

#[test]
fn output_does_not_make_a_context_long() {
    let tokens = Tokens { input: 200_000, output: MILLION, ..used() };
    assert_usd(cost("claude-sonnet-4-5", &tokens), 0.6 + 15.0);
}

#[test]
fn openai_charges_twice_over_272k() {
    assert_usd(cost("gpt-5.5", &Tokens { input: 272_000, ..used() }), 1.36);
    assert_usd(cost("gpt-5.5", &Tokens { input: 200_000, cache_read: 100_000, output: 1_000, ..used() }), 2.145);
}

#[test]
fn fast_mode_has_a_premium_or_no_price() {
    let fast = Tokens { input: 100_000, output: 10_000, tier: Some("fast"), ..used() };
    assert_usd(cost_on("claude-opus-4-6", &fast, "2026-03-01"), 4.5);
    assert_usd(cost_on("claude-opus-4-6", &fast, "2026-02-10"), 2.25);
    assert_usd(cost("claude-opus-5", &fast), 1.5);
    assert_eq!(cost("claude-sonnet-4-6", &fast), None);
    assert_eq!(cost("claude-opus-4-5", &fast), None);
    assert_usd(cost("gpt-5.5", &fast), cost("gpt-5.5", &Tokens { tier: Some("priority"), ..fast }).unwrap_or(-1.0));
}

#[test]
fn fast_mode_of_opus_4_6_was_dearer_still_over_200k() {
    let fast = Tokens { input: 300_000, output: 10_000, tier: Some("fast"), ..used() };
    assert_usd(cost_on("claude-opus-4-6", &fast, "2026-03-01"), 0.3 * 60.0 + 0.01 * 225.0);
    assert_usd(cost_on("claude-opus-4-6", &fast, "2026-04-01"), 0.3 * 30.0 + 0.01 * 150.0);
}

#[test]
fn tiers_have_their_own_rates() {
    let at = |tier| Tokens { input: 100_000, output: 10_000, tier, ..used() };
    assert_usd(cost("gpt-5.4", &at(None)), 0.4);
    assert_usd(cost("gpt-5.4", &at(Some("default"))), 0.4);
    assert_usd(cost("gpt-5.4", &at(Some("priority"))), 0.8);
    assert_usd(cost("gpt-5.4", &at(Some("flex"))), 0.2);
    assert_usd(cost("claude-sonnet-4-6", &at(Some("batch"))), 0.225);
    assert_usd(cost("claude-sonnet-4-6", &at(Some("standard"))), 0.45);
    assert_eq!(cost("claude-sonnet-4-6", &at(Some("priority"))), None);
    assert_eq!(cost("gpt-5.4", &at(Some("some-new-tier"))), None);
}

#[test]
fn inference_in_the_us_only_costs_more_where_anthropic_sells_it() {
    let us = Tokens { input: 100_000, cache_read: 100_000, web_searches: 1, inference_geo: Some("us"), ..used() };
    // (0.1 × 5 + 0.1 × 0.5) × 1.1 + 0.01
    assert_usd(cost("claude-opus-4-6", &us), 0.615);
    assert_usd(cost("claude-opus-4-6", &Tokens { inference_geo: Some("global"), ..us }), 0.56);
    assert_usd(cost("claude-opus-4-6", &Tokens { inference_geo: Some("not_available"), ..us }), 0.56);
    assert_usd(cost("claude-opus-5", &Tokens { tier: Some("fast"), ..us }), 1.22);
    assert_usd(cost("claude-fable-5-2", &us), 0.912);
    assert_usd(cost("claude-opus-4-5", &us), 0.56);
    assert_usd(cost("gpt-5", &Tokens { web_searches: 0, ..us }), 0.1375);
}

#[test]
fn codex_models_have_a_priority_tier() {
    let tokens = Tokens { input: MILLION, cache_read: MILLION, output: MILLION, tier: Some("priority"), ..used() };
    assert_usd(cost("gpt-5-codex", &tokens), 22.75);
    assert_usd(cost("gpt-5.1-codex", &tokens), 22.75);
    assert_usd(cost("gpt-5.1-codex-mini", &tokens), 4.095);
    assert_usd(cost("gpt-5.2-codex", &tokens), 31.85);
}

#[test]
fn the_batch_discount_stacks_with_the_long_context() {
    let tokens = Tokens { input: 300_000, output: 10_000, tier: Some("batch"), ..used() };
    assert_usd(cost("claude-sonnet-4-5", &tokens), 0.3 * 3.0 + 0.01 * 11.25);
}

#[test]
fn web_searches_cost_a_cent() {
    let tokens = Tokens { input: 100_000, web_searches: 3, ..used() };
    assert_usd(cost("claude-opus-4-5", &tokens), 0.53);
    assert_usd(cost("claude-haiku-4-5", &tokens), 0.13);
    assert_usd(cost("gpt-5.2-codex", &tokens), 0.205);
}

#[test]
fn names_are_found_in_all_their_forms() {
    let forms = [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("Claude-Sonnet-4.5", "claude-sonnet-4-5"),
        ("claude-4.5-sonnet", "claude-sonnet-4-5"),
        ("claude-4.5-sonnet-thinking", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"),
        ("claude-sonnet-4-5-20991231", "claude-sonnet-4-5"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("claude-sonnet-4", "claude-sonnet-4-20250514"),
        ("claude-4-sonnet", "claude-sonnet-4-20250514"),
        ("claude-opus-4-0", "claude-opus-4-20250514"),
        ("claude-3.5-sonnet", "claude-3-5-sonnet-20241022"),
        ("claude-3-opus", "claude-3-opus-20240229"),
        ("openrouter/anthropic/claude-3-opus", "claude-3-opus-20240229"),
        ("openrouter/anthropic/claude-opus-4.8", "claude-opus-4-8"),
        ("openrouter/anthropic/claude-opus-4.8:thinking", "claude-opus-4-8"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("bedrock/us.anthropic.claude-opus-4-1-20250805-v1:0", "us.anthropic.claude-opus-4-1-20250805-v1:0"),
        ("ca.anthropic.claude-fable-5-20990101-v1:0", "claude-fable-5"),
        (
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0[1m]",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
        (
            "bedrock/arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/us-gov.anthropic.claude-opus-5",
            "us-gov.anthropic.claude-opus-5",
        ),
        (
            "arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-opus-4-1-20250805-v1:0",
            "anthropic.claude-opus-4-1-20250805-v1:0",
        ),
        ("vertex_ai/claude-sonnet-4@20250514", "vertex_ai/claude-sonnet-4@20250514"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("google/gemini-3-flash-preview", "gemini/gemini-3-flash-preview"),
        ("azure/gpt-5", "azure/gpt-5"),
        ("openai/gpt-5.2-codex", "gpt-5.2-codex"),
        ("gpt-5.2-codex-xhigh", "gpt-5.2-codex"),
        ("gpt-5.1-codex-max", "gpt-5.1-codex-max"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-5.5-2099-01-01", "gpt-5.5"),
        ("x-ai/grok-4.5", "xai/grok-4.5"),
        ("grok-4.5", "xai/grok-4.5"),
    ];
    let table = PriceTable::bundled();
    for (recorded, key) in forms {
        assert_eq!(table.price(recorded, None, None).map(|price| price.model_key), Some(key), "{recorded}");
    }
}

#[test]
fn a_name_never_gets_the_price_of_another_model() {
    let table = PriceTable::bundled();
    let unlike = [
        ("gpt-5-mini", "gpt-5"),
        ("gpt-5.1", "gpt-5"),
        ("claude-opus-4-5", "claude-opus-4"),
        ("gpt-4o-mini", "gpt-4o"),
    ];
    for (longer, shorter) in unlike {
        assert_ne!(table.resolve(longer, None), table.resolve(shorter, None), "{longer}");
    }
    let unknown = [
        "",
        "<synthetic>",
        "gpt-5.3-codex-spark",
        "gpt-5-unheard-of",
        "claude",
        "claude-opus-4-99",
        "claude-opus",
        "gpt",
        "cursor-auto",
        "coder-model",
        "codex-auto-review",
        "synthetic-model",
        "grok",
        "gpt-5.2-codex-high-fast",
        "lm_studio/qwen3.6-35b-a3b-uncensored-hauhaucs-aggressive",
        "lm_studio/gpt-4o",
        "ollama/gpt-4o",
        "openrouter/meta-llama/llama-3.2-11b-vision-instruct:free",
        "openrouter/deepseek/deepseek-chat-v9:free",
        "deepseek/deepseek-chat:free",
        "chatgpt/gpt-5.3-codex-spark",
        "openrouter/anthropic/claude-9",
        "/",
        "a/b/c",
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6",
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/claude-opus-5",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile",
        "arn:claude-opus-5",
    ];
    for model in unknown {
        assert_eq!(table.price(model, None, None).map(|price| price.model_key), None, "{model}");
    }
    assert_eq!(cost("<synthetic>", &used()), None);
}

#[test]
fn the_provider_decides_where_it_has_its_own_price() {
    let table = PriceTable::bundled();
    let key = |model, provider| table.price(model, Some(provider), None).map(|price| price.model_key);
    assert_eq!(key("gpt-5", "azure"), Some("azure/gpt-5"));
    assert_eq!(key("claude-opus-5", "anthropic"), Some("claude-opus-5"));
    assert_eq!(key("gemini-2.5-pro", "google"), Some("gemini/gemini-2.5-pro"));
    assert_eq!(key("gpt-5.3-codex", "opencode"), Some("gpt-5.3-codex"));
    assert_eq!(key("gpt-5.4", "chatgpt"), Some("gpt-5.4"));
    assert_eq!(key("deepseek-chat", "lmstudio"), None);
    assert_eq!(key("llama3", "ollama"), Some("ollama/llama3"));
}

#[test]
fn what_is_listed_as_free_costs_nothing() {
    assert_eq!(cost("ollama/llama3", &Tokens { input: MILLION, output: MILLION, ..used() }), Some(0.0));
}

#[test]
fn a_users_file_overrides_and_adds() {
    let text = r#"
        [[price]]
        models = ["gpt-5.5"]
        from = 2026-10-01
        input = 1
        output = 2.0

        [[price]]
        models = ["house/model"]
        provider = "us"
        input = 3.0
        output = 4.0
        web_search = 5.0

        [[price]]
        models = ["gpt-5.4"]
        unpriced = true

        [aliases]
        "Our-Deployment" = "house/model"
    "#;
    let table = PriceTable::bundled().with_overrides(text).expect("the file is well formed");
    let tokens = Tokens { input: MILLION, output: MILLION, ..used() };
    let usd = |model, on| table.cost(&tokens, model, None, on).map(|cost| cost.usd);
    assert_usd(usd("gpt-5.5", None), 3.0);
    assert_usd(usd("gpt-5.5", day("2026-09-30")), 55.0);
    assert_usd(usd("house/model", day("2020-01-01")), 7.0);
    assert_usd(usd("our-deployment", None), 7.0);
    assert_eq!(usd("gpt-5.4", None), None);
    let searches = Tokens { web_searches: 2, ..used() };
    assert_usd(table.cost(&searches, "house/model", None, None).map(|cost| cost.usd), 0.01);
}

#[test]
fn the_documented_example_is_a_price_file() {
    let documented = include_str!("mod.rs").lines().map_while(|line| line.strip_prefix("//!"));
    let example = documented.skip_while(|line| *line != " ```toml").skip(1).take_while(|line| *line != " ```");
    let text: String = example.flat_map(|line| [line, "\n"]).collect();
    let table = PriceTable::bundled().with_overrides(&text).expect("the example is well formed");
    assert_eq!(table.price("our-deployment", None, None).map(|price| price.model_key), Some("gpt-5.5"));
}

#[test]
fn a_bad_file_is_refused() {
    let bad = [
        "[[price]]\nmodels = [\"a\"]\ninput = 1.0",
        "[[price]]\nmodels = [\"a\"]\ninput = -1.0\noutput = 1.0",
        "[[price]]\nmodels = []\nunpriced = true",
        "[[price]]\nmodels = [\"a\"]\ninpt = 1.0",
        "[[price]]\nmodels = [\"a\"]\nfrom = 2026-02-01\nuntil = 2026-01-01\nunpriced = true",
        "[[price]]\nmodels = [\"a\"]\ninput = nan\noutput = 1.0",
        "[[price]]\nmodels = [\"gpt-5\"]\nbatch = { input = 1.0 }",
        "[[price]]\nmodels = [\"a\"]\nsame_as = \"no-such-model\"",
        "[[price]]\nmodels = [\"a\"]\nsame_as = \"gpt-5\"\ncache_read = 1.0",
        "[aliases]\na = \"no-such-model\"",
        "not toml",
    ];
    for text in bad {
        assert!(PriceTable::bundled().with_overrides(text).is_err(), "{text}");
    }
}

#[test]
fn rows_show_rates_by_time_tier_and_threshold() {
    let table = PriceTable::bundled();
    let rate = |model: &str, kind: PriceKind, tier: PriceTier, from: Option<NaiveDate>| {
        let row = table.rows().find(|row| (row.model, row.kind, row.tier, row.valid_from) == (model, kind, tier, from));
        row.map(|row| (row.threshold, row.usd_per_million))
    };
    assert_eq!(rate("o3", PriceKind::Input, PriceTier::Standard, None), Some((None, 10.0)));
    assert_eq!(rate("o3", PriceKind::Input, PriceTier::Standard, day("2025-06-10")), Some((None, 2.0)));
    assert_eq!(
        rate("claude-sonnet-4-5", PriceKind::CacheWrite1h, PriceTier::LongContext, None),
        Some((Some(200_000), 12.0))
    );
    assert_eq!(rate("claude-opus-5", PriceKind::Output, PriceTier::Fast, None), Some((None, 50.0)));
    assert_eq!(rate("claude-opus-5", PriceKind::WebSearch, PriceTier::Standard, None), Some((None, 10_000.0)));
    assert!(table.rows().all(|row| row.usd_per_million >= 0.0 && row.usd_per_million.is_finite()));
}

#[test]
fn claude_caches_follow_the_published_rule() {
    let table = PriceTable::bundled();
    for model in table.models.iter().filter(|model| model.key.starts_with("claude-") && !model.key.contains("3-haiku"))
    {
        let Some(price) = model.listed_price() else { continue };
        let Rates { input: Some(input), cache_write_5m, cache_write_1h, .. } = price.card.standard else { continue };
        assert!((cache_write_5m.unwrap_or(0.0) - 1.25 * input).abs() < 1e-6, "{}", model.key);
        assert!((cache_write_1h.unwrap_or(0.0) - 2.0 * input).abs() < 1e-6, "{}", model.key);
    }
}

#[test]
fn a_timestamp_has_its_utc_day() {
    assert_eq!(utc_day(1_749_513_599_999_999), day("2025-06-09"));
    assert_eq!(utc_day(1_749_513_600_000_000), day("2025-06-10"));
    assert_eq!(utc_day(i64::MAX), None);
}

fn any_model() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "claude-opus-4-6",
        "claude-sonnet-4-5",
        "claude-haiku-5-5",
        "gpt-5.5",
        "gemini-2.5-pro",
        "o3",
        "deepseek-chat",
        "xai/grok-4.5",
        "ollama/llama3",
    ])
}

fn any_tokens(below: u64) -> impl Strategy<Value = Tokens<'static>> {
    let tier = prop::sample::select(vec![None, Some("batch"), Some("fast"), Some("priority"), Some("flex")]);
    ([0..below, 0..below, 0..below, 0..below, 0..below], 0..20_u64, tier).prop_map(|(counts, web_searches, tier)| {
        let [input, cache_read, five_minutes, hour, output] = counts;
        Tokens {
            input,
            cache_read,
            cache_write_5m: five_minutes,
            cache_write_1h: hour,
            output,
            web_searches,
            tier,
            inference_geo: None,
            is_sum: false,
        }
    })
}

proptest! {
    #[test]
    fn cost_is_linear_below_the_threshold(model in any_model(), tokens in any_tokens(8_000), times in 1_u64..3) {
        let multiple = Tokens {
            input: tokens.input * times,
            cache_read: tokens.cache_read * times,
            cache_write_5m: tokens.cache_write_5m * times,
            cache_write_1h: tokens.cache_write_1h * times,
            output: tokens.output * times,
            web_searches: tokens.web_searches * times,
            tier: tokens.tier,
            inference_geo: None,
            is_sum: false,
        };
        match (cost(model, &tokens), cost(model, &multiple)) {
            (Some(one), Some(many)) => prop_assert!((one * times as f64 - many).abs() < 1e-9),
            (one, many) => prop_assert_eq!(one, many),
        }
    }

    #[test]
    fn cost_is_never_negative_and_grows_with_every_kind(model in any_model(), tokens in any_tokens(400_000), kind in 0..6, more in 0..MILLION) {
        let mut larger = tokens;
        *match kind {
            0 => &mut larger.input,
            1 => &mut larger.cache_read,
            2 => &mut larger.cache_write_5m,
            3 => &mut larger.cache_write_1h,
            4 => &mut larger.output,
            _ => &mut larger.web_searches,
        } += more;
        if let (Some(less), Some(more)) = (cost(model, &tokens), cost(model, &larger)) {
            prop_assert!(0.0 <= less && less <= more);
        }
    }

    #[test]
    fn any_name_can_be_looked_up(model in "[ -~]{0,40}|(us\\.|openrouter/)?claude[-a-z0-9.:@/]{0,30}", provider in prop::option::of("[ -~]{0,12}")) {
        let table = shared();
        prop_assert!(table.resolve(&model, provider.as_deref()).is_none_or(|ModelId(at)| at < table.models.len()));
    }
}

fn shared() -> &'static PriceTable {
    static TABLE: LazyLock<PriceTable> = LazyLock::new(PriceTable::bundled);
    &TABLE
}

fn cost(model: &str, tokens: &Tokens) -> Option<f64> {
    shared().cost(tokens, model, None, None).map(|cost| cost.usd)
}

fn cost_on(model: &str, tokens: &Tokens, on: &str) -> Option<f64> {
    shared().cost(tokens, model, None, day(on)).map(|cost| cost.usd)
}

fn day(text: &str) -> Option<NaiveDate> {
    text.parse().ok()
}

fn used() -> Tokens<'static> {
    Tokens::default()
}

#[track_caller]
fn assert_usd(actual: Option<f64>, expected: f64) {
    assert!(actual.is_some_and(|actual| (actual - expected).abs() < 1e-9), "{actual:?} is not {expected}");
}
