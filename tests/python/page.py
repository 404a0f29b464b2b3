"""What a page of `llrem report` shows, as JSON: page.py FILE. Fails on what a page must not have."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "nav", "section", "h1", "h2", "h3", "p", "ul", "li", "a",
    "dl", "div", "dt", "dd", "b", "code", "time", "figure", "figcaption", "span", "details", "summary",
    "table", "thead", "tbody", "tr", "th", "td", "svg", "desc", "line", "polyline", "rect", "circle", "text",
}
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "role", "viewbox", "aria-labelledby", "aria-label",
    "aria-hidden", "scope", "title", "datetime", "preserveaspectratio", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "dy", "width",
    "height", "points", "fill", "opacity", "stroke", "stroke-width", "text-anchor", "font-family", "font-size",
}
VOID = {"meta"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.named, self.links = [], set(), set(), set()
        self.policy, self.styles, self.section = None, [], None
        self.tables, self.headline, self.paragraphs, self.plots = {}, [], [], []

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS, f"a tag {tag}"
        for name, value in attributes:
            assert name in ATTRIBUTES, f"an attribute {name} of {tag}"
            if name == "href":
                assert value.startswith("#"), value
                self.links.add(value[1:])
        attributes = dict(attributes)
        if "id" in attributes:
            assert attributes["id"] not in self.ids
            self.ids.add(attributes["id"])
        self.named.update(attributes.get("aria-labelledby", "").split())
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        if tag == "section":
            self.section = attributes["id"]
            self.tables[self.section] = []
        if tag == "svg" and attributes.get("role") == "img":
            self.plots.append({"section": self.section, "texts": [], "bars": 0})
        if tag == "rect" and self.in_plot():
            self.plots[-1]["bars"] += 1
        if tag == "tr":
            self.tables[self.section].append([])
        if tag in ("th", "td"):
            self.tables[self.section][-1].append("")
        if tag in ("dt", "dd"):
            self.headline.append("")
        if tag == "p":
            self.paragraphs.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"a stray end of {tag}"

    def in_plot(self):
        return "figure" in self.open and "figcaption" not in self.open

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.styles.append(data)
        elif any(tag in self.open for tag in ("th", "td")):
            self.tables[self.section][-1][-1] += data
        elif any(tag in self.open for tag in ("dt", "dd")):
            self.headline[-1] += data
        elif "p" in self.open:
            self.paragraphs[-1] += data
        elif self.in_plot() and self.open[-1] == "text":
            self.plots[-1]["texts"].append(data.strip())


text = open(sys.argv[1], encoding="utf-8", newline="").read()
odd = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", text)
assert not odd, odd
assert "://" not in text.replace("http://www.w3.org/2000/svg", ""), "an address"
page = Page()
page.feed(text)
page.close()
assert not page.open, page.open
assert page.named <= page.ids and page.links <= page.ids
assert len(page.styles) == 1
digest = base64.b64encode(hashlib.sha256(page.styles[0].encode()).digest()).decode()
assert page.policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'", page.policy
assert not re.search(r"url\(|@import", page.styles[0])
headline = dict(zip(page.headline[::2], page.headline[1::2]))
print(json.dumps({"headline": headline, "tables": page.tables, "paragraphs": page.paragraphs, "plots": page.plots}))
