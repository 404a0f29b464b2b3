"""Lines of JSON as agents leave them: shared by the scripts that count."""

import json


def no_constants(name):
    raise ValueError(name + " is not JSON")


JSON = json.JSONDecoder(parse_constant=no_constants)


def objects(line, start):
    """The values of one line: one, or more if a line break was lost. Of a line that is torn before any was whole, the one
    behind the tear, which begins as `start`, a pattern, says."""
    line = line.strip()
    whole = 0
    while line:
        try:
            value, end = JSON.raw_decode(line)
        except (ValueError, RecursionError):
            for place in start.finditer(line, 1):
                if whole:
                    return
                try:
                    yield JSON.decode(line[place.start():])
                    return
                except (ValueError, RecursionError):
                    pass
            return
        yield value
        whole += 1
        line = line[end:].lstrip()
