"""Lines that edits add and remove: of diffs, patches, and old and new texts. (added, removed); None is not known."""
import re

OLD = ("old_string", "oldString", "old_str", "oldStr", "oldText", "old_text")
NEW = ("new_string", "newString", "new_str", "newStr", "newText", "new_text")
ALL = ("replace_all", "replaceAll", "allow_multiple", "change_all")


def between(old, new):
    """What a line diff of two texts has: all lines but those of a longest common subsequence."""
    if not old:
        return len(new.splitlines()), 0
    a, b = old.split("\n"), new.split("\n")
    row = [0] * (len(b) + 1)
    for line in a:
        before = 0
        for place, other in enumerate(b, 1):
            before, row[place] = row[place], before + 1 if line == other else max(row[place], row[place - 1])
    return len(b) - row[-1], len(a) - row[-1]


def marked(lines):
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def of_diff(diff):
    """A unified diff, or lines of which each begins with its mark."""
    if "@@" in diff:
        diff = re.sub(r"^--- .*\n\+\+\+ .*$", "", diff, flags=re.M)
    return marked(diff.split("\n"))


def of_patch(text):
    """`*** Begin Patch`: the lines of a file that it deletes are not in it."""
    bodies = re.findall(r"\*\*\* Begin Patch\r?\n(.*?)(?:^\*\*\* End Patch|\Z)", text, re.S | re.M)
    if not any(re.search(r"^\*\*\* (Add|Update|Delete) File: ", body, re.M) for body in bodies):
        return None
    added, removed = marked("\n".join(bodies).split("\n"))
    return added, None if any("*** Delete File: " in body for body in bodies) else removed


def of_command(command):
    """A shell command that runs apply_patch, not one that only writes a patch to a file."""
    runs = re.search(r"(^|[;&|\n]\s*)apply_patch\b", command.split("*** Begin Patch")[0])
    return of_patch(command) if runs and "*** Begin Patch" in command else None


def of_blocks(text):
    """SEARCH/REPLACE blocks."""
    found = re.findall(r"^[<-]{5,} SEARCH *\n(.*?)^={5,} *\n(.*?)^[>+]{5,} REPLACE", text, re.S | re.M)
    return total(between(re.sub(r"\A(:(start|end)_line:.*\n)*(-------\n)?", "", old), new) for old, new in found)


def total(edits):
    """The sum of several edits; not known if one of them is not."""
    edits = list(edits)
    if not edits or None in edits:
        return None
    return tuple(None if None in column else sum(column) for column in zip(*edits))


def pair(edit):
    old, new = (next((edit[key] for key in keys if isinstance(edit.get(key), str)), None) for keys in (OLD, NEW))
    return None if old is None or new is None or any(edit.get(key) is True for key in ALL) else between(old, new)


def of_arguments(given):
    """The arguments of a tool that edits files."""
    if isinstance(given, str):
        return of_patch(given)
    if not isinstance(given, dict):
        return None
    patch = next((given[key] for key in ("patch", "patchText", "input") if isinstance(given.get(key), str)), "")
    if "*** Begin Patch" in patch:
        return of_patch(patch)
    if isinstance(given.get("diff"), str):
        return of_blocks(given["diff"]) or ("@@" in given["diff"] and of_diff(given["diff"]) or None)
    if isinstance(given.get("expected_replacements"), int) and given["expected_replacements"] > 1:
        return None
    if any(given.get(key) is True for key in ALL):
        return None
    if pair(given):
        return pair(given)
    edits = given.get("edits")
    return total(isinstance(edit, dict) and pair(edit) or None for edit in edits) if isinstance(edits, list) else None


def sums(calls):
    """The columns of calls that ended well, for the script's output."""
    calls = [call for call in calls if call]
    return {"tool_calls.lines_" + name: {"count": len(known), "sum": sum(known)} for name, known in
            (("added", [call[0] for call in calls if call[0] is not None]),
             ("removed", [call[1] for call in calls if call[1] is not None]))}
