#!/usr/bin/env python3
"""Count the tokens, messages and tool calls of Copilot Chat in VS Code below a home folder, once each.

    count_copilot_chat.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
"""
import collections
import glob
import json
import os
import re
import sqlite3
import sys

import lines
import rows

LARGEST = 2**53 - 1
START = re.compile(r'\{"(kind|ts)":')
ORDER = ["responses", "input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]


def count(value):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value <= LARGEST else None


def table(value):
    return value if isinstance(value, dict) else {}


def items(value):
    return value if isinstance(value, list) else []


def objects(path):
    with open(path, "rb") as file:
        content = file.read().replace(b"\0", b"")
    for line in content.split(b"\n"):
        yield from (it for it in lines.objects(line.decode("utf-8", "replace"), START) if isinstance(it, dict))


def replayed(path):
    """The document after all changes, and every request that was cut off."""
    document, cut = {}, {}
    for change in objects(path):
        kind, keys = change.get("kind"), change.get("k", [])
        if kind == 0:
            document, cut = change.get("v"), {}
        if kind not in (1, 2, 3) or not isinstance(keys, list) or not keys:
            continue
        try:
            place = document
            for key in keys[:-1]:
                place = place[key]
            if kind == 2:
                if isinstance(place, dict):
                    place.setdefault(keys[-1], [])
                kept = place[keys[-1]]
                length = change.get("i", len(kept))
                if 0 <= length < len(kept):
                    if keys == ["requests"]:
                        cut.update((it.get("requestId"), it) for it in kept[length:])
                    del kept[length:]
                if isinstance(change.get("v"), list):
                    kept += change["v"]
            elif kind == 3 or "v" not in change:
                place.pop(keys[-1], None)
            else:
                place[keys[-1]] = change["v"]
        except (KeyError, IndexError, TypeError):
            continue
    return document, cut


def whole(path):
    """A document; of a torn one, the requests before the tear."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        return json.loads(text)
    except ValueError:
        requests, place = [], text.find('"requests"')
        place = text.find("[", place) + 1 if place >= 0 else 0
        while place:
            try:
                request, end = json.JSONDecoder().raw_decode(text, re.compile(r"[\s,]*").match(text, place).end())
            except ValueError:
                break
            requests, place = requests + [request], end
        return {"requests": requests}


def measured(path, session):
    """Calls of the model, by span: (start, model, numbers), the spans of helpers, and the tool calls that failed."""
    storage, found, helpers, failed = os.path.dirname(os.path.dirname(path)), {}, set(), set()
    for log in glob.glob(os.path.join(glob.escape(storage), "GitHub.copilot-chat/debug-logs", os.path.basename(path)[:-6], "*.jsonl")):
        for line in objects(log):
            told = table(line.get("attrs"))
            if line.get("type") == "llm_request" and (count(told.get("inputTokens")) is not None or count(told.get("outputTokens")) is not None):
                cached = count(told.get("cachedTokens")) or 0
                helpers.update([line["spanId"]] if os.path.basename(log) != "main.jsonl" else [])
                found[line["spanId"]] = line["ts"], told.get("model"), [(count(told.get("inputTokens")) or 0) - cached, cached, 0, count(told.get("outputTokens")) or 0]
    user = storage[:-len("/globalStorage")] if storage.endswith("globalStorage") else os.path.dirname(os.path.dirname(storage))
    traces = os.path.join(user, "globalStorage/github.copilot-chat/agent-traces.db")
    if os.path.isfile(traces):
        database = sqlite3.connect("file:%s?mode=ro" % traces, uri=True)
        told = {}
        for span, key, value in database.execute("SELECT span_id, key, value FROM span_attributes"):
            told.setdefault(span, {})[key] = value
        for span, chat, start, answered, asked, given, cached, output in database.execute(
                "SELECT span_id, chat_session_id, start_time_ms, response_model, request_model, input_tokens, cached_tokens, output_tokens"
                " FROM spans WHERE operation_name = 'chat'"):
            more = told.get(span, {})
            written = int(more.get("gen_ai.usage.cache_creation.input_tokens", 0))
            if more.get("copilot_chat.parent_chat_session_id", chat) == session:
                helpers.update([span] if "copilot_chat.parent_chat_session_id" in more else [])
                found[span] = start, answered or asked, [(given or 0) - (cached or 0) - written, cached or 0, written, output or 0]
        for span, chat, call in database.execute("SELECT span_id, chat_session_id, tool_call_id FROM spans WHERE status_code = 2"):
            if call and told.get(span, {}).get("copilot_chat.parent_chat_session_id", chat) == session:
                failed.add(own_id(call))
        database.close()
    return found, helpers, failed


def model_of(request, metadata):
    named = [metadata.get("resolvedModel")]
    named += [table(it).get("modelId") for it in reversed(items(metadata.get("toolCallRounds")))]
    named += [table(table(it).get("resolved")).get("id") for it in items(request.get("response"))] + [request.get("modelId")]
    return next((name for name in named if name), "null").removeprefix("copilot/")


def own_id(call):
    return (call or "").split("__vscode-")[0]


def status(call, part, request, metadata, is_last):
    """How a call ended. A running request, which is the last one, is saved as a cancelled one."""
    results = {own_id(key): it for key, it in table(metadata.get("toolCallResults")).items()}
    decision, state = part.get("isConfirmed"), table(request.get("modelState")).get("value")
    if table(decision).get("type") in (0, 5) or decision is False and call not in results:
        return "rejected"
    exit_code = table(table(part.get("toolSpecificData")).get("terminalCommandState")).get("exitCode")
    if exit_code or part.get("resultError"):
        return "error"
    if call in results:
        return "ok"
    is_stopped = state == 2 or request.get("isCanceled") is True
    if state in (0, 4) or request.get("result") is None and (is_last or not is_stopped):
        return "pending"
    return "interrupted" if is_stopped else "ok"


def said(request, metadata, is_last):
    """Ids of the replies of a request."""
    rounds = items(metadata.get("toolCallRounds"))
    if rounds:
        return [it.get("id") for it in rounds]
    texts = [it if isinstance(it, str) else table(it).get("value") for it in items(request.get("response"))
             if isinstance(it, str) or table(it).get("kind", "thinking") == "thinking"]
    is_over = request.get("result") is not None or not is_last
    is_counted = items(request.get("modelTotals")) or any(
        count(it.get(key)) is not None for it in (request, metadata) for key in ("promptTokens", "completionTokens", "outputTokens"))
    return [request.get("responseId")] if is_over and (any(texts) or is_counted) else []


def total(home):
    usage, messages, calls = {}, {}, {}
    for path in chats(home):
        document, cut = replayed(path) if path.endswith("l") else (whole(path), {})
        document = table(document)
        present = items(document.get("requests"))
        ids = [table(it).get("requestId") for it in present]
        requests = [table(it) for it in present] + [it for key, it in cut.items() if key not in ids]
        requests.sort(key=lambda it: count(it.get("timestamp")) or 0)
        session = document.get("sessionId") or os.path.splitext(os.path.basename(path))[0]
        spans, helpers, failed = measured(path, session)
        owners = collections.defaultdict(list)
        for span, (start, model, numbers) in spans.items():
            usage[session, span] = model, numbers
            before = [it for it in requests if (count(it.get("timestamp")) or 0) <= start]
            if before and span not in helpers:  # a helper's call does not count the turn
                end = table(before[-1].get("modelState")).get("completedAt")
                if before[-1] is not requests[-1] or not end or start <= end:
                    owners[id(before[-1])].append(span)
        for place, request in enumerate(requests):
            metadata = table(table(request.get("result")).get("metadata"))
            key = request.get("requestId") or (path, place)
            key = key if isinstance(key, str) and len(key) > 20 else (session, key)
            messages[key] = "prompt"
            for reply in said(request, metadata, place + 1 == len(requests)):
                messages[(reply,) if reply and len(reply) > 20 else (key, reply)] = "reply"
            parts = {own_id(it.get("toolCallId")): it for it in map(table, items(request.get("response")))
                     if it.get("kind") == "toolInvocationSerialized"}
            made = [own_id(table(call).get("id")) for it in items(metadata.get("toolCallRounds")) for call in items(it.get("toolCalls"))]
            for call in made + [call for call in parts if call not in made]:
                ended = status(call, parts.get(call, {}), request, metadata, place + 1 == len(requests))
                ended = "error" if ended == "ok" and call in failed else ended
                calls.setdefault(call if len(call) > 15 else (key, call), ended)
            if owners[id(request)]:
                continue
            model = model_of(request, metadata)
            for it in items(request.get("modelTotals")):
                cached = count(it.get("cachedTokens")) or 0
                usage[key, it["model"]] = it["model"].removeprefix("copilot/"), [it["inputTokens"] - cached, cached, 0, it["outputTokens"]]
            numbers = [count(metadata.get(noted)) if count(request.get(own)) is None else count(request[own]) for own, noted in
                       (("promptTokens", "promptTokens"), ("completionTokens", "outputTokens"))]
            if not items(request.get("modelTotals")) and numbers != [None, None]:
                usage[key] = model, [numbers[0] or 0, 0, 0, numbers[1] or 0]
            for it in items(metadata.get("summaries")):
                told = table(it.get("usage"))
                cached = table(told.get("prompt_tokens_details")).get("cached_tokens") or 0
                if told:
                    usage[key, "summary", it.get("toolCallRoundId")] = it.get("model") or model, \
                        [told["prompt_tokens"] - cached, cached, 0, told["completion_tokens"]]
    models = collections.defaultdict(collections.Counter)
    for model, (given, cached, written, output) in usage.values():
        models[model].update(dict(zip(ORDER, (1, given, cached, written, 0, output))))
    by_model = {model: {name: models[model][name] for name in ORDER} for model in sorted(models)}
    return by_model | rows.counted(messages.values(), calls.values())


def chats(home):
    """Chats of every editor and server. A document next to a log is older than the log."""
    users = [os.path.join(home, place) for place in (".config/*/User", "Library/Application Support/*/User", ".*-server*/data/User")]
    found = [path for user in users for place in ("workspaceStorage/*/chatSessions/*", "globalStorage/emptyWindowChatSessions/*")
             for path in sorted(glob.glob(os.path.join(user, place)))]
    return [path for path in found if path.endswith(".jsonl") or path.endswith(".json") and path + "l" not in found]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(json.dumps(total(sys.argv[1]), indent=2))
