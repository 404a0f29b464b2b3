#!/usr/bin/env python3
"""Count the tokens that Cursor recorded below a home folder, once each, and the lines of edits.

    count_cursor.py HOME

Only the editor's databases tell any: few bubbles have token counts, and some versions a cost for each model of a
conversation. Chats of the command-line program and transcripts tell none. Standard library only.
"""
import base64
import glob
import json
import os
import sqlite3
import sys
import urllib.parse

import edits

KINDS = ["input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens"]
USERS = [".config/Cursor/User", "Library/Application Support/Cursor/User", "AppData/Roaming/Cursor/User"]


def parse(value):
    """A value as JSON; text, bytes, or base64 of either."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return None
    for text in (value, None):
        try:
            if text is None:
                text = base64.b64decode(value, validate=True).decode("utf-8", "replace")
            return json.loads(text)
        except (ValueError, RecursionError):
            continue
    return None


def number(value):
    """A count as agents write it: also as a text or a float; nothing else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        value = float(value)
    except ValueError:
        return None
    return int(value) if abs(value) < 2 ** 53 else None


def as_dict(value):
    return value if isinstance(value, dict) else {}


def as_list(value):
    return value if isinstance(value, list) else []


def tokens(bubble):
    """Input and output of a bubble; zeros are no count."""
    for field, names in (("tokenCount", ("inputTokens", "outputTokens")), ("usage", ("input_tokens", "output_tokens"))):
        counts = as_dict(bubble.get(field))
        both = tuple(max(0, number(counts.get(name)) or 0) for name in names)
        if sum(both) > 0:
            return both
    return None


def model_of(bubble):
    return as_dict(bubble.get("modelInfo")).get("modelName") or bubble.get("modelType") or None


def is_user(bubble, header):
    for kind in (bubble.get("type"), bubble.get("role"), header):
        if str(kind) in ("1", "user"):
            return True
        if str(kind) in ("2", "ai", "assistant"):
            return False
    return None


EDITS = ("search_replace", "edit_file_v2_search_replace", "multi_edit", "apply_patch", "StrReplace", "MultiEdit", "Edit",
         "ApplyPatch")


def edited(tool):
    """The lines that a call changed, by its arguments; None of one that did not end well."""
    result, more = parse(tool.get("result")), as_dict(tool.get("additionalData"))
    refused = tool.get("userDecision") == "rejected" or as_dict(result).get("rejected") is True
    failed = as_dict(result).get("error") or more.get("status") == "error"
    if tool.get("name") not in EDITS or tool.get("status") != "completed" or refused or failed:
        return None
    given = tool.get("rawArgs") or tool.get("params") or ""
    return edits.of_arguments(given if given.startswith("*** ") else parse(given))


class Conversation:
    def __init__(self, record, ident):
        self.id = ident
        self.created = number(record.get("createdAt")) or 0
        self.default = as_dict(record.get("modelConfig")).get("modelName")
        self.costs = {
            model: cost for model, cost in as_dict(record.get("usageData")).items()
            if model and (number_of_cents(cost) or 0) >= 0 and number_of_cents(cost) is not None
        }
        self.asked = None
        self.rows, self.edits = {}, {}
        self.seen = set()

    def take(self, ident, bubble, header):
        """Keeps (model, input, output) by response."""
        who = is_user(bubble, header)
        server = bubble.get("serverBubbleId")
        marks = {("local", ident)} | ({("server", who, server)} if server else set())
        again = marks & self.seen
        self.seen |= marks
        if again or who is None:
            return
        if who:
            self.asked = model_of(bubble) or self.asked
        tool = as_dict(bubble.get("toolFormerData"))
        call = tool.get("toolCallId") or ""
        self.edits.setdefault(call if len(call) >= 12 else (self.id, ident), edited(tool))
        both = tokens(bubble)
        if not both:
            return
        model = None if who else model_of(bubble) or self.asked or self.default
        response = bubble.get("usageUuid") or server or ident
        self.rows.setdefault((response,) + both, model)


def number_of_cents(cost):
    value = as_dict(cost).get("costInCents")
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def inline(record):
    """Bubbles that stand in a composer's own record: (id, bubble) in order."""
    found = []
    entries = [(None, bubble) for bubble in as_list(record.get("conversation"))]
    entries += list(as_dict(record.get("conversationMap")).items())
    for place, (ident, bubble) in enumerate(entries):
        if isinstance(bubble, dict):
            found.append((ident or bubble.get("bubbleId") or f"#{place}", bubble))
    return found


def moment(bubble):
    created = bubble.get("createdAt")
    return (created is None, str(created or ""))


def composers(database):
    """Conversations of `cursorDiskKV`."""
    records, bubbles = {}, {}
    for key, value in database.execute("SELECT key, value FROM cursorDiskKV"):
        if isinstance(key, str) and key.startswith("composerData:") and key[13:]:
            records[key[13:]] = as_dict(parse(value))
        elif isinstance(key, str) and key.startswith("bubbleId:") and key.count(":") >= 2:
            _, owner, ident = key.split(":", 2)
            bubble = parse(value)
            if owner and isinstance(bubble, dict):
                bubbles.setdefault(owner, {})[ident] = bubble
    for ident in sorted(set(records) | set(bubbles)):
        record, stored = records.get(ident, {}), bubbles.get(ident, {})
        stated = dict(inline(record))
        headers = [h for h in as_list(record.get("fullConversationHeadersOnly")) if isinstance(h, dict) and h.get("bubbleId")]
        order = [(h["bubbleId"], h.get("type")) for h in headers] or [(one, None) for one in stated]
        listed = {one for one, _ in order}
        order += [(one, None) for one in sorted(set(stored) - listed, key=lambda one: (moment(stored[one]), one))]
        conversation = Conversation(record, ident)
        for one, header in order:
            bubble = stored.get(one, stated.get(one))
            if bubble is not None:
                conversation.take(one, bubble, header)
        yield conversation


def items(database):
    """Conversations of `ItemTable`: composers with all that was said."""
    query = "SELECT value FROM ItemTable WHERE key = 'composer.composerData'"
    for (value,) in database.execute(query):
        held = parse(value)
        for record in as_list(held if isinstance(held, list) else as_dict(held).get("allComposers")):
            if isinstance(record, dict) and record.get("composerId") and inline(record):
                conversation = Conversation(record, record["composerId"])
                for ident, bubble in inline(record):
                    conversation.take(ident, bubble, None)
                yield conversation


def conversations(path):
    uri = f"file:{urllib.parse.quote(path)}?mode=ro" + ("" if os.path.exists(path + "-wal") else "&immutable=1")
    database = sqlite3.connect(uri, uri=True)
    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    for table, read in (("cursorDiskKV", composers), ("ItemTable", items)):
        if table in tables:
            yield from read(database)


def spelled(model, costs):
    """A model as the costs spell it: bubbles may name its way of thinking with it."""
    plain = lambda name: (name or "").removesuffix("-thinking")
    same = sorted(named for named in costs if plain(named) == plain(model))
    return model if model in costs or not same else same[0]


def main(home):
    responses, costs, changed = {}, set(), {}
    paths = [path for user in USERS for path in glob.glob(os.path.join(glob.escape(home), user, "*", "state.vscdb"))]
    paths += [path for user in USERS for path in glob.glob(os.path.join(glob.escape(home), user, "workspaceStorage/*/state.vscdb"))]
    for path in sorted(paths):
        for conversation in conversations(path):
            changed = conversation.edits | changed
            costs |= {(conversation.id, model) for model in conversation.costs}
            for (response, given, made), model in conversation.rows.items():
                model = spelled(model, conversation.costs)
                # A duplicated conversation repeats the responses of its origin.
                responses.setdefault((response, given, made), (conversation.created, conversation.id, model))
    models = {}
    priced = set()
    for (_, given, made), (_, session, model) in responses.items():
        row = models.setdefault(model or "null", dict.fromkeys(["responses"] + KINDS, 0))
        # Of a model with a cost there is one row, for all of the conversation.
        if (session, model) not in costs or (session, model) not in priced:
            row["responses"] += 1
        if (session, model) in costs:
            priced.add((session, model))
        row["input_tokens"] += given
        row["output_tokens"] += made
    for session, model in costs - priced:
        models.setdefault(model, dict.fromkeys(["responses"] + KINDS, 0))["responses"] += 1
    print(json.dumps(models | edits.sums(changed.values()), indent=2, sort_keys=True))


main(sys.argv[1])
