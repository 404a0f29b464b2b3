#!/usr/bin/env python3
"""Refreshes prices.json from the price table that the PyPI package `litellm` carries.

    python3 src/pricing/refresh.py                        compares with the newest release
    python3 src/pricing/refresh.py --accept               and writes what changed
    python3 src/pricing/refresh.py --table 1.110.2.json   reads that release's table from a file, without a network
    python3 src/pricing/refresh.py --rebuild              starts from nothing, through the releases in ARCHIVE

Only the wheel is downloaded; nothing of it is run. Every price that changed and every model or kind of price that
disappeared is listed, and nothing is written then: add each change with its day to dated.toml, which this script does
not touch, so that old sessions keep their price. Then run it again with --accept. Models that the new table no longer
prices keep their last known price and say in "gone" which release priced them last.

prices.json holds one model a line, sorted, in USD per million tokens. A rate list is
[input, cache read, 5-minute cache write, 1-hour cache write, output]; null is unknown.
    provider, mode   as litellm names them
    std              standard rates; batch, flex, priority, ultrafast: the rates of those tiers
    long             [{over, std, ...}]: rates of the whole request once its prompt is over so many tokens
    fast             factor on all rates in Anthropic's fast mode
    us               factor on all rates if Anthropic runs the inference in the US only
    search           USD per web search
A model that litellm lists without a price is null.
"""

import argparse
import datetime
import glob
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

PRICES = pathlib.Path(__file__).with_name("prices.json")
TABLE = "litellm/model_prices_and_context_window_backup.json"
# Releases whose tables list models that later ones dropped, oldest first.
ARCHIVE = ["1.65.0", "1.74.0", "1.80.0", "1.83.0", "1.95.1"]
TEXT_MODES = {"chat", "completion", "responses"}
TIERS = {"std": "", "batch": "_batches", "flex": "_flex", "priority": "_priority", "ultrafast": "_ultrafast"}
KINDS = ["input", "cache read", "5-minute cache write", "1-hour cache write", "output"]
THRESHOLD = re.compile(r"^input_cost_per_token_above_(\d+)k_tokens$")
# Where a price of zero means free; elsewhere litellm writes zero for prices that it does not know.
FREE_PROVIDERS = {"ollama", "lemonade", "gemini", "openrouter", "opencode_go", "publicai", "vertex_ai-language-models", "zai"}
# OpenRouter passes these makers' prices on; the makers' own entries know more (fast mode, dated changes).
PASSED_ON = ("openrouter/anthropic/", "openrouter/openai/")
NOT_TEXT = re.compile(r"audio|realtime|-tts|-live-|lyria|image|transcribe|/container$|commitment/|1024-x|\*")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rebuild", action="store_true", help="start from nothing, through the archived releases")
    arguments.add_argument("--table", type=pathlib.Path, help="litellm's table, in a file named after its release")
    arguments.add_argument("--prices", type=pathlib.Path, default=PRICES, help="the file to refresh")
    arguments.add_argument("--accept", action="store_true", help="write the prices although some changed")
    options = arguments.parse_args()

    stored = json.loads(options.prices.read_text(encoding="utf-8"))
    known, last = stored["models"], stored["litellm"]
    if options.rebuild:
        known, last = {}, None
        for release in ARCHIVE:
            version, table = download(f"litellm=={release}")
            known, last = merged(known, last, models_of(table)), version
    version, table = read_table(options.table) if options.table else download("litellm")
    models = merged(known, last, models_of(table))

    changes = list(differences(stored["models"], models))
    for change in changes:
        print(change)
    if changes and not options.accept:
        sys.exit(f"{len(changes)} changes; {options.prices} is as it was. Date them in dated.toml, then use --accept.")
    write(options.prices, version, models)


def read_table(path):
    return path.stem, json.loads(path.read_text(encoding="utf-8"))


def download(requirement):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, requirement]
        subprocess.run(command, check=True)
        wheel = glob.glob(f"{folder}/litellm-*.whl")[0]
        version = pathlib.Path(wheel).name.split("-")[1]
        with zipfile.ZipFile(wheel) as archive:
            return version, json.loads(archive.read(TABLE))


def merged(known, known_version, new):
    gone = {
        name: model if model is None or "gone" in model else model | {"gone": known_version}
        for name, model in known.items()
        if new.get(name) is None and not name.startswith(PASSED_ON)
    }
    return new | gone


def differences(old, new):
    """A line for every model that disappeared, and for every tier of one that changed or lost a price."""
    for name, model in old.items():
        if model is None:
            continue
        if name not in new:
            yield f"{name}: dropped"
            continue
        if "gone" in new[name] and "gone" not in model:
            yield f"{name}: no longer priced, keeps its price"
        after = rates_by_tier(new[name])
        for tier, rates in rates_by_tier(model).items():
            now = after.get(tier, {})
            changed = [f"{kind} {rate} -> {now.get(kind, 'lost')}" for kind, rate in rates.items() if rate != now.get(kind)]
            if changed:
                yield f"{name}: {tier}: {', '.join(changed)}"


def rates_by_tier(model):
    cards = {"": model} | {f"over {step['over']} ": step for step in model.get("long", [])}
    lists = {over + tier: card[tier] for over, card in cards.items() for tier in TIERS if card.get(tier)}
    tiers = {tier: {kind: rate for kind, rate in zip(KINDS, rates) if rate is not None} for tier, rates in lists.items()}
    return tiers | {"factors and searches": {kind: model[kind] for kind in ("fast", "us", "search") if kind in model}}


def models_of(table):
    return {
        name: model_of(name, entry)
        for name, entry in table.items()
        if entry.get("mode") in TEXT_MODES and not NOT_TEXT.search(name)
    }


def model_of(name, entry):
    provider = entry.get("litellm_provider", "")
    standard = rates(entry, "", "")
    long = long_context(entry)
    if standard[0] is None and (tiers := entry.get("tiered_pricing")):
        standard, long = graduated(tiers)
    if standard[0] is None or standard[4] is None:
        return None
    if standard[0] == standard[4] == 0 and provider not in FREE_PROVIDERS:
        return None

    model = {"provider": provider, "mode": entry["mode"], "std": standard}
    for tier, suffix in list(TIERS.items())[1:]:
        if has_price(tier_rates := rates(entry, "", suffix)):
            model[tier] = tier_rates
    if long:
        model["long"] = long
    for factor in ("fast", "us"):
        if value := (entry.get("provider_specific_entry") or {}).get(factor):
            model[factor] = tidy(value)
    if search := (entry.get("search_context_cost_per_query") or {}).get("search_context_size_medium"):
        model["search"] = search
    if "claude" in name:
        complete_claude(name, model)
    return model


def rates(entry, threshold, tier):
    suffix = threshold + tier
    write = "cache_creation_input_token_cost"
    return [
        per_million(entry.get(key + suffix))
        for key in ("input_cost_per_token", "cache_read_input_token_cost", write, write + "_above_1hr", "output_cost_per_token")
    ]


def has_price(rate_list):
    return rate_list[0] is not None and rate_list[4] is not None


def long_context(entry):
    thresholds = sorted(int(match[1]) for key in entry if (match := THRESHOLD.match(key)))
    steps = []
    for thousands in thresholds:
        step = {"over": thousands * 1000}
        for tier, suffix in TIERS.items():
            tier_rates = rates(entry, f"_above_{thousands}k_tokens", suffix)
            if tier_rates[0] is not None or tier_rates[4] is not None:
                step[tier] = tier_rates
        steps.append(step)
    return steps


def graduated(tiers):
    steps = [{"over": int(tier["range"][0]), "std": rates(tier, "", "")} for tier in tiers if "range" in tier]
    if not steps:
        return [None] * 5, []
    return steps[0]["std"], steps[1:]


def complete_claude(name, model):
    """Anthropic's rules: 5-minute writes 1.25 times input, 1-hour writes twice, reads a tenth; batches half."""
    for rate_list in [model["std"], *(step["std"] for step in model.get("long", []))]:
        base = rate_list[0]
        rate_list[1] = multiple(base, 0.1) if rate_list[1] is None else rate_list[1]
        rate_list[2] = multiple(base, 1.25) if rate_list[2] is None else rate_list[2]
        if rate_list[3] not in (None, multiple(base, 2)):
            print(f"{name}: 1-hour write {rate_list[3]} is not twice the input price {base}: corrected", file=sys.stderr)
        rate_list[3] = multiple(base, 2)
    if model["provider"] == "anthropic":
        model.setdefault("batch", [multiple(rate, 0.5) for rate in model["std"]])
        model.setdefault("search", 0.01)
    if "batch" in model:
        model["batch"][3] = multiple(model["batch"][0], 2)


def per_million(usd_per_token):
    return None if usd_per_token is None else tidy(float(usd_per_token) * 1e6)


def multiple(rate, factor):
    return tidy(rate * factor)


def tidy(number):
    rounded = round(number, 6)
    return int(rounded) if rounded == int(rounded) else rounded


def write(path, version, models):
    compact = {"separators": (",", ":"), "ensure_ascii": False}
    lines = [f"{json.dumps(name)}:{json.dumps(models[name], **compact)}" for name in sorted(models)]
    header = f'"source":"litellm","litellm":"{version}","date":"{datetime.date.today()}"'
    path.write_text(f"{{{header},\"models\":{{\n" + ",\n".join(lines) + "\n}}\n", encoding="utf-8")
    priced = sum(model is not None for model in models.values())
    print(f"{path}: litellm {version}, {priced} priced of {len(models)} models, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
