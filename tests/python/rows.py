"""Messages and tool calls, as the scripts print them next to the tokens."""

import collections

KINDS = ("prompt", "reply")
STATUSES = ("ok", "error", "rejected", "interrupted", "pending")


def counted(kinds, statuses):
    """Numbers of messages by kind and of tool calls by status. Other kinds of messages are not counted."""
    kinds, statuses = collections.Counter(kinds), collections.Counter(statuses)
    assert set(statuses) <= set(STATUSES), statuses
    return {"messages": {kind: kinds[kind] for kind in KINDS},
            "tool_calls": {status: statuses[status] for status in STATUSES}}
