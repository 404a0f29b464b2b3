"""Messages and tool calls, as the scripts print them next to the tokens."""

import collections

KINDS = ("prompt", "reply")
STATUSES = ("ok", "error", "rejected", "interrupted", "pending")


def counted(found, statuses, kinds=KINDS):
    """Numbers of messages of some kinds, and of tool calls by status."""
    found, statuses = collections.Counter(found), collections.Counter(statuses)
    assert set(statuses) <= set(STATUSES), statuses
    return {"messages": {kind: found[kind] for kind in kinds},
            "tool_calls": {status: statuses[status] for status in STATUSES}}
