"""Runs a notebook cell by cell, as Jupyter does, and says what its cells showed.

    notebooks.py NOTEBOOK [EXPRESSION...]

Prints {"cells": [{"asks", "shows", "rows"}], "figures": n, "values": [...]}: each cell's first comment, the type of its
last value and its number of rows; the figures drawn; the expressions' values after the last cell.
"""

import ast
import json
import re
import sys
import types
import warnings
from pathlib import Path


def code_cells(text):
    for cell in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        kind, _, body = cell.partition("\n")
        if "[markdown]" not in kind:
            yield body


def run(cell, path, names):
    """Runs a cell; its value is that of a last line that is an expression."""
    tree = ast.parse(cell, path)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, path, "exec"), names)
    return eval(compile(ast.Expression(last.value), path, "eval"), names) if last else None


def rows(value):
    try:
        return len(value)
    except TypeError:
        return 1


def main():
    path, *expressions = sys.argv[1:]
    sys.path.insert(0, str(Path(path).parent))
    names = types.ModuleType("__main__").__dict__
    warnings.filterwarnings("error", module="__main__|llrem_lake")
    cells = []
    for cell in code_cells(Path(path).read_text(encoding="utf-8")):
        value = run(cell, path, names)
        asks = cell.partition("\n")[0].removeprefix("# ")
        cells.append({"asks": asks, "shows": type(value).__name__, "rows": rows(value)})
    plots = sys.modules.get("matplotlib.pyplot")
    figures = len(plots.get_fignums()) if plots else 0
    values = [eval(expression, names) for expression in expressions]
    print(json.dumps({"cells": cells, "figures": figures, "values": values}))


main()
