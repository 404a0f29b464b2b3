"""What a page of `llrem report` shows, as JSON: page.py FILE. Fails on what a page must not have."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "nav", "section", "article", "h1", "h2", "h3", "p",
    "ul", "ol", "li", "a", "dl", "div", "dt", "dd", "b", "br", "code", "time", "figure", "figcaption", "span", "details", "summary",
    "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "svg", "desc", "g", "line", "path", "rect", "circle", "text",
}
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "role", "viewbox", "aria-labelledby", "aria-label",
    "aria-hidden", "scope", "datetime", "open", "preserveaspectratio", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "dx", "width",
    "height", "d", "fill-opacity", "text-anchor",
}
VOID = {"meta", "br"}


class Node:
    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children = tag, attributes, []

    def text(self):
        parts = [" " if child == "\n" else child if isinstance(child, str) else child.text() for child in self.children]
        return " " if self.tag == "br" else "".join(parts)

    def has(self, selector):
        tag, _, name = selector.partition(".")
        return (not tag or self.tag == tag) and (not name or name in self.attributes.get("class", "").split())

    def all(self, selector):
        for child in self.children:
            if isinstance(child, Node):
                if child.has(selector):
                    yield child
                yield from child.all(selector)

    def first(self, selector):
        return next(self.all(selector), None)


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.root = Node("", {})
        self.open, self.ids, self.named, self.links = [self.root], set(), set(), set()

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS, f"a tag {tag}"
        for name, value in attributes:
            assert name in ATTRIBUTES, f"an attribute {name} of {tag}"
            if name == "href":
                assert value.startswith("#"), value
                self.links.add(value[1:])
        attributes = {name: value or "" for name, value in attributes}
        if "id" in attributes:
            assert attributes["id"] not in self.ids, attributes["id"]
            self.ids.add(attributes["id"])
        self.named.update(attributes.get("aria-labelledby", "").split())
        node = Node(tag, attributes)
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert len(self.open) > 1 and self.open.pop().tag == tag, f"a stray end of {tag}"

    def handle_data(self, data):
        self.open[-1].children.append(data)


def plain(node):
    return " ".join(node.text().replace("\u202f", " ").replace("\xa0", " ").split()) if node else None


def parts(cell):
    """A cell's own text, and the line below it."""
    sub = cell.first("span.sub")
    if sub is None:
        return plain(cell)
    cell.children.remove(sub) if sub in cell.children else None
    return [plain(cell), plain(sub)]


def section(node):
    findings = [
        {
            "title": plain(find.first("h3")),
            "amount": parts(find.first("div.amt")),
            "count": plain(find.first("p.s")),
            "todo": [plain(item) for todo in find.all("ul.do") for item in todo.all("li")],
            "examples": [[plain(item.first("b")), plain(item.first("span")), plain(item.first("code"))]
                         for item in find.first("ul.ex").all("li")],
        }
        for find in node.all("article.find")
    ]
    tables = [
        {"caption": plain(table.first("caption")),
         "rows": [[parts(cell) for cell in row.children if isinstance(cell, Node)] for row in table.all("tr")]}
        for table in node.all("table")
    ]
    plots = [
        {"title": plain(plot.first("title")), "about": plain(plot.first("desc")),
         "texts": [plain(text) for text in plot.all("text")],
         "bars": sum(1 for group in plot.all("g") for _ in group.all("rect")),
         "rects": sum(1 for _ in plot.all("rect"))}
        for plot in node.all("svg.plot") if plot.attributes.get("role") == "img"
    ]
    return {
        "title": plain(node.first("h2")),
        "paragraphs": [plain(text) for text in node.all("p")],
        "points": [plain(item) for points in node.all("ul.dq") for item in points.all("li")],
        "key": [plain(item) for key in node.all("ul.key") for item in key.all("li")],
        "facts": {plain(fact.first("dt")): plain(fact.first("dd")) for facts in node.all("dl.facts") for fact in facts.all("div")},
        "multiples": [[plain(part) for part in head.all("span")] for many in node.all("div.mult") for head in many.all("h3")],
        "findings": findings, "tables": tables, "plots": plots,
    }


text = open(sys.argv[1], encoding="utf-8", newline="").read()
odd = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", text)
assert not odd, odd
assert "://" not in text, "an address"
page = Page()
page.feed(text)
page.close()
assert len(page.open) == 1, page.open[-1].tag
assert page.named <= page.ids and page.links <= page.ids, page.links - page.ids
root = page.root
[style] = list(root.all("style"))
style = style.text()
digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
policy = next(meta.attributes["content"] for meta in root.all("meta")
              if meta.attributes.get("http-equiv") == "Content-Security-Policy")
assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'", policy
assert not re.search(r"url\(|@import", style)
for node in root.all("svg.plot"):
    assert "viewbox" not in node.attributes, "text of this plot shrinks on a phone"
tiles = {
    plain(tile.first("dt")): {
        "value": plain(tile.first("div.v")),
        "notes": [part for part in re.split(r" ?\n ?", "".join(
            "\n" if isinstance(child, Node) and child.tag == "br" else child.replace("\u202f", " ")
            for child in tile.first("div.c").children if isinstance(child, str) or child.tag == "br")) if part],
        "bars": (tile.first("path").attributes["d"].count("M") if tile.first("path") else 0),
    }
    for tiles in root.all("dl.tiles") for tile in tiles.children
}
main = root.first("main")
print(json.dumps({
    "title": plain(root.first("title")), "heading": plain(root.first("h1")), "scope": plain(root.first("p.scope")),
    "lead": plain(root.first("p.lead")), "notable": plain(root.first("p.lead2")), "caveat": plain(root.first("p.caveat")),
    "tiles": tiles, "nav": [plain(item) for nav in root.all("nav") for item in nav.all("li")],
    "sections": {node.attributes["id"]: section(node) for node in root.all("section")},
    "main": plain(main) if not tiles else None, "footer": plain(root.first("footer").first("p")),
}))
