#!/usr/bin/env python3
"""Count the tokens, messages and tool calls that Cline recorded below a home folder, once each.

    count_cline.py HOME

An independent judge of llrem's rows: standard library only, everything in memory, no cleverness.
Prints JSON {model: {"responses": n, "input_tokens": n, ...}, "messages": {...}, "tool_calls": {...}}; a missing model is
called "null".
Roo Code and Kilo Code write the same files: count_roo_code.py and count_kilo_code.py use this one.
"""
import glob
import json
import math
import os
import re
import sys

import lines
import rows

LARGEST = 2**53 - 1  # the extensions are JavaScript: no whole number beyond this is exact
BASES = (".config/*/User", "Library/Application Support/*/User", "AppData/Roaming/*/User", ".vscode-server/data/User",
         ".vscode-server-insiders/data/User", ".vscode-remote/data/User", ".cursor-server/data/User",
         ".windsurf-server/data/User", ".vscodium-server/data/User", ".local/share/code-server/User")
MISSES_AS_WRITES = ("openai", "fireworks", "xai", "qwen", "doubao", "hicap")
WHOLE_PROMPT = ("litellm", "oca", "aihubmix", "lmstudio", "zai", "cerebras", "baseten", "huggingface", "together",
                "nebius")
CONTINUED = ("[cline-legacy-resume-warning:v1]", "Warning: this is a legacy conversation")


# ---------------------------------------------------------------- JSON

def text_of(path):
    try:
        with open(path, "rb") as file:
            return file.read().removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").decode("utf-8", "replace")
    except OSError:
        return ""


def value(text):
    try:
        return lines.JSON.decode(text)
    except (ValueError, TypeError):
        return None


def fields(path):
    found = value(text_of(path))
    return found if isinstance(found, dict) else {}


def items(path, name):
    """The objects of a list, or of the list of that name; those before a tear. And whether it was whole."""
    text = text_of(path)
    whole = value(text)
    if isinstance(whole, dict):
        whole = whole.get(name)
    if isinstance(whole, list):
        return [item for item in whole if isinstance(item, dict)], True
    if value(text) is not None:
        return [], True
    start = re.match(r"\s*\[", text) or re.search(r'"%s"\s*:\s*\[' % name, text)
    found, rest = [], text[start.end():] if start else ""
    while rest.strip():
        try:
            item, end = lines.JSON.raw_decode(rest.lstrip())
        except ValueError:
            break
        if isinstance(item, dict):
            found.append(item)
        rest = rest.lstrip()[end:].lstrip()
        if not rest.startswith(","):
            break
        rest = rest[1:]
    return found, False


def number(found):
    if isinstance(found, str):
        try:
            found = float(found)
        except ValueError:
            return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        return None
    return found


def count(found):
    """A whole number up to LARGEST, never below 0; anything else is None."""
    found = number(found)
    return None if found is None or abs(found) > LARGEST else max(0, int(found))


def moment(found):
    found = number(found)
    return None if found is None else int(found)


def words(found):
    return found if isinstance(found, str) and found else None


# ---------------------------------------------------------------- numbers

def row(model, tokens_in, read, write, out):
    return {"model": model, "input_tokens": tokens_in or 0, "cache_read_tokens": read or 0,
            "cache_write_5m_tokens": write or 0, "output_tokens": out or 0}


def told(info):
    names = ("tokensIn", "cacheReads", "cacheWrites", "tokensOut")
    return [count(info.get(name)) for name in names]


def has_numbers(info):
    cost = number(info.get("cost"))
    return any(part is not None for part in told(info)) or (cost is not None and cost >= 0)


def whole(tokens_in, read, write):
    caches = (read or 0) + (write or 0)
    return (tokens_in or 0) - caches if (tokens_in or 0) >= caches else tokens_in


def split(info, provider, at, since, is_sdk):
    """Input, cache read, cache write: the page's table of cases."""
    tokens_in, read, write, _ = told(info)
    if since is None and not is_sdk:
        if provider == "deepseek":
            return (tokens_in or 0) + (write or 0), read, None
        if provider in MISSES_AS_WRITES:
            return max(0, (tokens_in or 0) - (read or 0)), read, None
    if (tokens_in or 0) < (read or 0) + (write or 0):
        return tokens_in, read, write
    if since is not None:
        inclusive = at >= since or info.get("apiProtocol") == "openai"
    else:
        inclusive = not is_sdk and provider in WHOLE_PROMPT
    return (whole(tokens_in, read, write) if inclusive else tokens_in), read, write


# ---------------------------------------------------------------- tasks

def last_of_moment(rows):
    """Rows of one moment and name are one, the last."""
    last = {}
    for place, shown in enumerate(rows):
        at = moment(shown.get("ts"))
        last[(place if at is None else at, shown.get("say") or shown.get("ask"))] = place
    keep = set(last.values())
    return [shown for place, shown in enumerate(rows) if place in keep]


def requests_of(rows):
    """Requests with their JSON, numbers of `api_req_finished` put in; and sums: (place, row, info)."""
    found = []
    for place, shown in enumerate(rows):
        say = shown.get("say")
        info = value(shown.get("text"))
        info = info if isinstance(info, dict) else {}
        if say == "api_req_started":
            found.append([place, shown, info])
        elif say == "api_req_finished":
            started = [one for one in found if one[1].get("say") == "api_req_started"]
            if started:
                started[-1][2].update(info)
        elif say in ("deleted_api_reqs", "api_req_deleted", "subagent_usage"):
            found.append([place, shown, info])
        elif say == "condense_context":
            found.append([place, shown, info])
    return found


def request_of(at, requests, resumed, others):
    """The moment of the request that sent a message: the last one, unless the person did something or the history went on
    since then; else the next one."""
    before = max((when for when in requests if when <= at), default=None)
    if before is not None and not any(before < when <= at for when in resumed) and not any(before < when < at for when in others):
        return before
    return min((when for when in requests if when > at), default=at)


def stamps(history, rows):
    """Models that the surroundings name, with the moment of the request that sent the message they stand in."""
    def of(*names):
        return [moment(one.get("ts")) or 0 for one in rows if (one.get("say") or one.get("ask")) in names]
    requests, resumed = of("api_req_started"), of("user_feedback", "resume_task", "resume_completed_task")
    others = [moment(message.get("ts")) or 0 for message in history]
    found = []
    for message in history:
        blocks = message.get("content")
        for block in blocks if isinstance(blocks, list) else [{"type": "text", "text": blocks}]:
            text = block.get("text") if isinstance(block, dict) and message.get("role") == "user" else None
            details = re.search(r"<environment_details>(.*)</environment_details>", text or "", re.S)
            model = details and re.search(r"<model>(.*?)</model>", details.group(1))
            if model:
                at = moment(message.get("ts"))
                found.append((request_of(at, requests, resumed, others) if at else 0, model.group(1).strip()))
    return found


def is_sdk_build(versions, at):
    usable = [version for since, version in versions if since <= at] or [version for _, version in versions[:1]]
    numbers = [int(part) if part.isdigit() else 0 for part in re.split(r"[.-]", usable[-1])[:3]] if usable else [0]
    return numbers == [4, 0, 0] or numbers >= [4, 1, 0]


def indexed_model(folder):
    """The model that the index names of a task without metadata."""
    if os.path.isfile(os.path.join(folder, "task_metadata.json")):
        return None
    index = os.path.join(folder, "..", "..", "state", "taskHistory.json")
    named = [words(item.get("modelId")) for item in items(index, "entries")[0] if item.get("id") == os.path.basename(folder)]
    return next((model for model in reversed(named) if model), None)


def task_rows(folder, task, since):
    """{id: row} of a task's folder, and whether its requests told tokens."""
    names = ("ui_messages.json", "claude_messages.json")
    shown_at = next((path for path in (os.path.join(folder, name) for name in names) if os.path.isfile(path)), None)
    metadata = fields(os.path.join(folder, "task_metadata.json"))
    history, _ = items(os.path.join(folder, "api_conversation_history.json"), "")
    found, finer, is_whole, indexed = {}, False, True, indexed_model(folder)
    if shown_at:
        rows, is_whole = items(shown_at, "")
        all_rows = requests_of(last_of_moment(rows))
        finer = ask_rows(all_rows, task, since, metadata, stamps(history, rows) or [(0, indexed)], found, history)
    if not finer:
        for place, message in enumerate(history):
            metrics = message.get("metrics")
            tokens = metrics.get("tokens") if isinstance(metrics, dict) else None
            if message.get("role") == "assistant" and isinstance(tokens, dict):
                read = count(tokens.get("cached"))
                model = words((message.get("modelInfo") or {}).get("modelId")) or indexed
                tokens_in = whole(count(tokens.get("prompt")), read, 0)
                found["%s:api:%d" % (task, place)] = row(model, tokens_in, read, None, count(tokens.get("completion")))
                finer = True
    totals = [count(metadata.get("totalTokensIn")), count(metadata.get("totalTokensOut"))]
    if is_whole and not finer and any(total is not None for total in totals):
        found[task + ":total"] = row(words(metadata.get("model")), totals[0], None, None, totals[1])
    return found


def ask_rows(asked, task, since, metadata, stamped, found, history):
    models = [one for one in metadata.get("model_usage") or [] if isinstance(one, dict)]
    versions = [(moment(one.get("ts")) or 0, one.get("cline_version") or "")
                for one in metadata.get("environment_history") or [] if isinstance(one, dict)]
    starts = [(moment(shown.get("ts")), shown) for _, shown, _ in asked if shown.get("say") == "api_req_started"]
    finer = False
    for _, shown, info in asked:
        at = moment(shown.get("ts")) or 0
        say = shown.get("say")
        # A sum, or a compaction, is of the request before it.
        own = [(when, start) for when, start in starts if (when or 0) <= at]
        start = shown if say == "api_req_started" else own[-1][1] if own else {}
        begun = moment(start.get("ts")) or 0
        later = [when for when, _ in starts if when is not None and when > begun]
        before = [one for one in models if not later or (moment(one.get("ts")) or 0) < min(later)]
        used = (before or models[:1] or [{}])[-1]
        of_row = start.get("modelInfo") if isinstance(start.get("modelInfo"), dict) else {}
        # What a reply records itself comes first.
        replies = [one for one in history if one.get("role") == "assistant" and say == "api_req_started" and
                   begun < (moment(one.get("ts")) or 0) < min(later, default=math.inf)]
        of_reply = replies[0].get("modelInfo") if replies else None
        of_row = of_row | (of_reply if isinstance(of_reply, dict) else {})
        model = words(of_row.get("modelId")) or words(used.get("model_id")) or words(metadata.get("model"))
        provider = words(of_row.get("providerId")) or words(used.get("model_provider_id"))
        is_sdk = is_sdk_build(versions, at)
        if say == "condense_context":
            condense = shown.get("contextCondense")
            cost = number(condense.get("cost")) if isinstance(condense, dict) else None
            if cost and cost > 0:
                found["%s:%d:compaction" % (task, at)] = row(model, None, None, None, None)
            continue
        if not has_numbers(info):
            continue
        out = told(info)[3]
        if say == "subagent_usage":
            found["%s:%d:subagents" % (task, at)] = row(None, told(info)[0], None, None, out)
        elif say == "api_req_started":
            finer = True
            known = [name for when, name in stamped if when <= at] or [name for _, name in stamped[:1]]
            found["%s:%d" % (task, at)] = row(model or (known[-1] if known else None),
                                              *split(info, provider, at, since, is_sdk), out)
        else:
            found["%s:%d:removed" % (task, at)] = row(None, *split(info, provider, at, since, is_sdk), out)
    return finer


# ---------------------------------------------------------------- SDK sessions

def blocks_of(message):
    content = message.get("content")
    return [one for one in content if isinstance(one, dict)] if isinstance(content, list) else [{"text": content}]


def session_rows(path, tasks):
    """{id: row} of one agent's messages, and whether it is a subagent's."""
    folder = os.path.dirname(path)
    root = os.path.basename(folder)
    agent = os.path.basename(path)[:-len(".messages.json")]
    session = root if agent == root else "%s__%s" % (root, agent)
    manifest = fields(os.path.join(folder, root + ".json")) if agent == root else {}
    messages, _ = items(path, "messages")
    replayed = max((place for place, message in enumerate(messages) if message.get("role") == "user" for block in
                    blocks_of(message) if any(mark in (block.get("text") or "") for mark in CONTINUED)), default=-1)
    found = {}
    for place, message in enumerate(messages):
        metrics = message.get("metrics")
        if message.get("role") != "assistant" or not isinstance(metrics, dict):
            continue
        if place < replayed and session in tasks:
            continue
        names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
        tokens_in, read, write, out = (count(metrics.get(name)) for name in names)
        if all(part is None for part in (tokens_in, read, write, out)):
            continue
        model = words((message.get("modelInfo") or {}).get("id")) or words(manifest.get("model"))
        name = "%s#%s" % (session, message["id"]) if message.get("id") else "%s:sdk:%d" % (session, place)
        found[name] = row(model, whole(tokens_in, read, write), read, write, out)
    return found, session, root


# ---------------------------------------------------------------- messages and tool calls

TOOLS = ("execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff", "search_files", "list_files",
         "list_code_definition_names", "browser_action", "use_mcp_tool", "access_mcp_resource", "ask_followup_question",
         "attempt_completion", "new_task", "plan_mode_respond", "switch_mode", "update_todo_list", "fetch_instructions",
         "insert_content", "search_and_replace", "codebase_search", "new_rule", "condense", "summarize_task")
TYPED = re.compile(r"<(task|feedback|user_message|answer|user_input)\b[^>]*>\s*(.*?)\s*</\1>", re.S)
HEADER = re.compile(r"^\[(\w+)(?: for '.*?')?\] Result:", re.M | re.S)
PROGRAMS = ("[ERROR]", "[TASK RESUMPTION]", "[NOTE]", "[Continue assisting", "This session is being continued",
            "Warning: this is a legacy conversation", "[cline-legacy-resume-warning")
SURROUNDINGS = re.compile(r"<environment_details>.*?(</environment_details>|$)", re.S)


def text_in(content):
    """The texts of a message's content, or of a result's."""
    found = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [SURROUNDINGS.sub("", block["text"]) for block in found if isinstance(block, dict) and
            block.get("type", "text") in ("text", "input_text") and isinstance(block.get("text"), str)]


def kind(message, writer):
    """The kind of a message of a history, or of an SDK session."""
    metadata = message.get("metadata") if isinstance(message.get("metadata"), dict) else {}
    if message.get("type") == "reasoning" or message.get("isSummary") is True or metadata.get("kind") == "compaction_summary" or metadata.get("displayOnly"):
        return "other"
    if message.get("role") == "assistant":
        return "reply"
    texts = text_in(message.get("content"))
    results = [text for block in blocks_of(message) if block.get("type") == "tool_result"
               for text in text_in(block.get("content"))]
    if writer == "roo" and any(words(own_object(text.strip())[0].get("feedback")) for text in results):
        return "prompt"
    is_answer = HEADER.search("\n".join(texts)) or results  # of a result, only what stands at its end was typed
    for text in texts + results:
        if any(typed[2] and not (is_answer and text[typed.end():].strip()) for typed in TYPED.finditer(text)):
            return "prompt"
    said = "\n".join(texts).strip()
    is_typed = said and not HEADER.search(said) and not said.startswith(PROGRAMS)
    return "prompt" if is_typed and message.get("role") == "user" else "other"


def own_object(said):
    """The object that Roo Code itself wrote, which may stand before a tool's result; and the rest."""
    try:
        found, end = lines.JSON.raw_decode(said)
    except ValueError:
        return {}, said
    message = str(found.get("message")) if isinstance(found, dict) and said.startswith('{"status"') else ""
    is_own = message and (words(found.get("feedback")) or re.match(
        "The user denied|The tool execution failed|Access blocked|Invalid JSON arg|Tool does not exist|Server is not", message))
    return (found, said[end:].strip()) if is_own else ({}, said)


def ended(said, is_error, writer):
    """How a call ended, by its result. `writer`: cline, roo or sdk."""
    own, said = own_object(said.strip()) if writer == "roo" else ({}, said.strip())
    first = said.split("\n")[0]
    if re.search(r"Tool was not executed because|Skipping tool|was interrupted and not executed", first):
        return "interrupted"
    refusal = r"user (denied|rejected)|(denied|rejected|disallowed) by (the )?user|was not approved|because the user sent"
    if said.startswith("The user denied this operation") or own.get("status") == "denied" or \
            writer == "sdk" and is_error is True and re.search(refusal, first, re.I):
        return "rejected"
    if writer == "sdk":
        found = value(said)
        found = found if isinstance(found, list) else [found]
        code, failed = None, any(isinstance(one, dict) and one.get("query") and one.get("success") is False for one in found)
    else:
        heading = said.split("\nOutput")[0] if re.match("Command (executed|failed)", said) else ""
        code, failed = re.search(r"[Ee]xit code:? (\d+)", heading), own.get("status") == "error"
    failed = failed or is_error is True or said.startswith("The tool execution failed with the following error:")
    return "error" if failed or code and int(code[1]) else "ok"


def elements(text):
    """The tools of the elements in a text that are calls: whole ones behind which nothing but an element follows."""
    found, at = [], 0
    while match := re.compile("<(%s)>" % "|".join(TOOLS)).search(text, at):
        is_file = match[1] == "write_to_file"  # which may hold such elements
        end = (text.rfind if is_file else text.find)("</%s>" % match[1], match.end())
        rest = text[end + len(match[1]) + 3:].lstrip()
        if end >= 0 and (not rest or rest.startswith("<")):
            found.append(match[1])
        at = end if end >= 0 else match.end()
    return found


def calls_of(messages, writer):
    """How each call of a list of messages ended."""
    calls, opened = [], {}  # opened: the places of calls by id, or by tool for calls within texts
    for message in messages:
        for block in blocks_of(message):
            said = "\n".join(text_in(block.get("content"))) if block.get("type") == "tool_result" else None
            if block.get("type") == "tool_use" and message.get("role") == "assistant":
                opened.setdefault(block.get("id"), []).append(len(calls))
                opened.setdefault("tool " + str(block.get("name")), []).append(len(calls))
                calls.append("pending")
            elif said is not None:
                places = [place for place in opened.get(block.get("tool_use_id"), []) if calls[place] == "pending"]
                if places:
                    calls[places[0]] = ended(said, block.get("is_error"), writer)
        if message.get("role") == "assistant":
            if not any(block.get("type") == "tool_use" for block in blocks_of(message)):
                for text in text_in(message.get("content")):
                    for tool in elements(text):
                        opened.setdefault("tool " + tool, []).append(len(calls))
                        calls.append("pending")
        else:
            whole_text = "\n".join(text_in(message.get("content")))
            headers = list(HEADER.finditer(whole_text))
            for header, following in zip(headers, headers[1:] + [None]):
                places = [place for place in opened.get("tool " + header[1], []) if calls[place] == "pending"]
                if places:
                    said = whole_text[header.end():following.start() if following else None]
                    calls[places[0]] = ended(said, None, writer)
    return calls


def shown_alone(shown):
    """Kinds and calls of a task without a history: prompts, and a reply for each request of which something came."""
    kinds, calls, is_open, before = [], [], False, None
    for place, row in enumerate(shown):
        say, called = row.get("say"), row.get("say") or row.get("ask")
        if say in ("task", "user_feedback") or say == "text" and not kinds and not is_open:
            kinds.append("prompt")
        elif say == "api_req_started":
            is_open = True
        elif is_open and called in ("text", "reasoning", "tool", "command", "followup", "use_mcp_server",
                                    "browser_action_launch", "completion_result", "plan_mode_respond") and row.get("text"):
            is_open = False
            kinds.append("reply")
        if called in ("tool", "command", "use_mcp_server", "browser_action_launch"):
            if (called, row.get("text")) != before:
                calls.append("ok")
            before = called, row.get("text")
    return kinds, calls


def spoken(roots, since, of_forks=()):
    """Messages and calls of the tasks and sessions of some folders; of a task in two of them the longer one's."""
    tasks, sessions, listed = {}, [], {}
    for root in roots:
        for folder in sorted(glob.glob(os.path.join(glob.escape(root), "tasks", "*", ""))):
            folder = folder.rstrip("/")
            task = fields(os.path.join(folder, "task_metadata.json")).get("taskId") or os.path.basename(folder)
            history, _ = items(os.path.join(folder, "api_conversation_history.json"), "")
            shown = items(os.path.join(folder, "ui_messages.json"), "")[0] or \
                items(os.path.join(folder, "claude_messages.json"), "")[0]
            known = tasks.get(task, ([], []))
            if (len(history), len(shown)) > (len(known[0]), len(known[1])):
                is_roo = since_of(folder) if root in of_forks else since
                tasks[task] = history, shown, "roo" if is_roo else "cline"
        for path in sorted(glob.glob(os.path.join(glob.escape(root), "sessions", "*", "*.messages.json"))):
            sessions.append((os.path.basename(path)[:-len(".messages.json")], items(path, "messages")[0]))
        for index in ("state/taskHistory.json", "tasks/_index.json"):
            listed |= {item["id"]: item for item in items(os.path.join(root, index), "entries")[0] if item.get("id")}
    kinds, statuses = [], []
    for history, shown, writer in tasks.values():
        kinds += [kind(message, writer) for message in history] if history else shown_alone(last_of_moment(shown))[0]
        statuses += calls_of(history, writer) if history else shown_alone(last_of_moment(shown))[1]
    for name, messages in sessions:
        replayed = max((place for place, message in enumerate(messages) for text in text_in(message.get("content"))
                        if any(mark in text for mark in CONTINUED)), default=0)
        own = messages[replayed:] if name in tasks else messages
        kinds += [kind(message, "sdk") for message in own]
        statuses += calls_of(own, "sdk")
    gone = listed.keys() - tasks.keys() - {name for name, _ in sessions}
    return rows.counted(kinds + ["prompt" for task in gone if words(listed[task].get("task"))], statuses)


# ---------------------------------------------------------------- all

KNOWN = ("saoudrizwan.claude-dev", "saoudrizwan.cline-nightly", "rooveterinaryinc.roo-cline",
         "rooveterinaryinc.roo-code-nightly", "kilocode.kilo-code")
ROOS = 1761955200000
ROOS_WORDS = ("apiProtocol", "condense_context", "inferenceProvider", "usageMissing")


def forks(home):
    """Storages of extensions that are not known by name, and have tasks."""
    found = [path for base in BASES for path in sorted(glob.glob(os.path.join(glob.escape(home), base, "globalStorage", "*")))]
    names = ("ui_messages.json", "claude_messages.json", "api_conversation_history.json")
    return [path for path in found if os.path.basename(path).lower() not in KNOWN and
            any(glob.glob(os.path.join(glob.escape(path), "tasks", "*", name)) for name in names)]


def since_of(folder):
    """Roo Code's moment where a fork's task is of its kind."""
    text = text_of(os.path.join(folder, "ui_messages.json"))
    is_roos = os.path.isfile(os.path.join(folder, "history_item.json")) or any(word in text for word in ROOS_WORDS)
    return ROOS if is_roos else None


def roots_of(home, extensions, storages):
    roots = [os.path.join(glob.escape(home), base, "globalStorage", one) for base in BASES for one in extensions]
    found_roots = [path for root in roots for path in sorted(glob.glob(root))]
    found_roots += [os.path.join(home, storage) for storage in storages]
    return found_roots + (forks(home) if "saoudrizwan.claude-dev" in extensions else [])


def total(home, extensions, storages, since):
    of_forks = forks(home) if "saoudrizwan.claude-dev" in extensions else []
    found_roots = roots_of(home, extensions, storages)
    found, tasks, sessions = {}, set(), set()

    def add(more):
        for name, one in more.items():
            if name not in found or found[name]["output_tokens"] < one["output_tokens"]:
                found[name] = one

    for root in found_roots:
        for folder in sorted(glob.glob(os.path.join(glob.escape(root), "tasks", "*", ""))):
            folder = folder.rstrip("/")
            task = fields(os.path.join(folder, "task_metadata.json")).get("taskId") or os.path.basename(folder)
            more = task_rows(folder, task, since_of(folder) if root in of_forks else since)
            add(more)
            if more or items(os.path.join(folder, "api_conversation_history.json"), "")[0] or any(
                    items(os.path.join(folder, name), "")[0] for name in ("ui_messages.json", "claude_messages.json")):
                tasks.add(task)
    told_by_subagents = set()
    for root in found_roots:
        for path in sorted(glob.glob(os.path.join(glob.escape(root), "sessions", "*", "*.messages.json"))):
            more, session, top = session_rows(path, tasks)
            add(more)
            sessions.add(session)
            if session != top and more:
                told_by_subagents.add(top)
    for name in [name for name in found if name.endswith(":subagents") and name.split(":")[0] in told_by_subagents]:
        del found[name]
    for root in found_roots:
        for index in ("state/taskHistory.json", "tasks/_index.json"):
            seen = set()
            for item in items(os.path.join(root, index), "entries")[0]:
                if item.get("id") in tasks or item.get("id") in sessions or item.get("id") in seen or not item.get("id"):
                    continue
                seen.add(item["id"])
                tokens_in, read, write, out = told(item)
                if any((tokens_in, read, write, out)) or (number(item.get("totalCost")) or 0) > 0:
                    at = moment(item.get("ts")) or 0
                    roos = ROOS if index == "tasks/_index.json" else None
                    add({item["id"] + ":index": row(words(item.get("modelId")), *split(item, None, at, roos if root in of_forks else since, False), out)})
    return found


def by_model(found):
    models = {}
    for one in found.values():
        model = models.setdefault(one["model"] or "null", {"responses": 0, "cache_write_1h_tokens": 0})
        model["responses"] += 1
        for kind in ("input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "output_tokens"):
            model[kind] = model.get(kind, 0) + one[kind]
    return models


def show(home, extensions, storages, since):
    of_forks = forks(home) if "saoudrizwan.claude-dev" in extensions else []
    found = by_model(total(home, extensions, storages, since))
    result = found | spoken(roots_of(home, extensions, storages), since, of_forks)
    json.dump(result, sys.stdout, indent=2, sort_keys=True)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    show(sys.argv[1], ("saoudrizwan.claude-dev", "saoudrizwan.cline-nightly"), (".cline/data",), None)
