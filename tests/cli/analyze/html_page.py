# SPDX-License-Identifier: MIT
# html_page.py PAGE TEXT: the page is whole, loads nothing, and says TEXT; prints what is in it.
import html.parser
import sys

VOID = {"meta"}
OPTIONAL = {"td", "th", "tr", "li", "dt", "dd", "p"}
KNOWN = VOID | OPTIONAL | set(
    "path rect html head title style body h1 h2 dl ul ol b nav a div span i svg g table code details summary".split())


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text, self.policy = [], {}, "", ""
        self.ids, self.links, self.bars = [], [], []

    def handle_starttag(self, tag, attrs):
        assert tag in KNOWN, tag
        self.seen[tag] = self.seen.get(tag, 0) + 1
        attrs = dict(attrs)
        for key, value in attrs.items():
            assert key != "src" and not key.startswith("on"), (tag, key)
            if key == "href":
                assert value.startswith("#"), value
                self.links.append(value[1:])
            if key == "id":
                self.ids.append(value)
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        if tag == "svg" and attrs["viewbox"] == "0 0 1000 10":
            self.bars.append(0)
        if tag == "rect" and self.bars and attrs.get("height") == "10":
            self.bars[-1] += float(attrs["width"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in OPTIONAL:
            self.open.pop()
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data if self.open[-1:] != ["style"] else ""


page = Page()
source = open(sys.argv[1], encoding="utf-8").read()
page.feed(source)
assert not page.open, page.open
assert sys.argv[2] in page.text, page.text[:2000]
assert "default-src 'none'" in page.policy and "script-src" not in page.policy, page.policy
assert "url(" not in source and "@import" not in source
assert "http:" not in source and "https:" not in source
assert "prefers-color-scheme:dark" in source and "max-width:560px" in source
assert page.links and page.links == page.ids, (page.links, page.ids)
# Bars are to scale: the longest span is the full width.
assert page.bars and abs(max(page.bars) - 1000) < 0.1, page.bars
print(len(page.bars), "bars")
