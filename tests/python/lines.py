"""Lines of JSON as agents leave them: shared by the scripts that count."""

import json


def no_constants(name):
    raise ValueError(name + " is not JSON")


JSON = json.JSONDecoder(parse_constant=no_constants)


def objects(line, start):
    """The values of one line: one, or more if line breaks were lost. Behind a torn one, the next is the first that begins
    as `start`, a pattern, says, and behind which the line ends or another begins."""
    line = line.strip()
    place = 0
    torn = False
    while place < len(line):
        try:
            value, end = JSON.raw_decode(line, place)
        except (ValueError, RecursionError):
            value, end = None, None
        rest = line[end:].lstrip() if end is not None else None
        if end is not None and (not torn or rest == "" or rest.startswith("{")):
            yield value
            place, torn = len(line) - len(rest), False
            continue
        torn = True
        found = start.search(line, max(end or 0, place + 1))
        if not found:
            return
        place = found.start()
