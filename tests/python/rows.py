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


def tally(column, values):
    """Numbers of rows by the value of a text column; rows without one are left out."""
    return {column: dict(collections.Counter(value for value in values if value is not None))}


def measured(column, values, parts=1):
    """Number and sum of the values of a column of numbers, the sum in whole parts of one, if there are any."""
    values = [value for value in values if value is not None]
    return {column: {"count": len(values), "sum": round(sum(values) * parts)} | ({"parts": parts} if parts > 1 else {})}
