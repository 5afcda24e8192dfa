# SPDX-License-Identifier: MIT
# html_page.py PAGE TEXT: the page is whole, loads nothing, and says TEXT; prints what is in it.
import html.parser
import sys

VOID = {"meta", "input"}
OPTIONAL = {"td", "th", "tr", "li", "dt", "dd", "p"}
KNOWN = VOID | OPTIONAL | set(
    "path rect line circle polyline text html head title style body header main h1 h2 h3 dl ul ol b nav a div span i svg g "
    "figure figcaption table thead tbody code details summary button label canvas script noscript".split())


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text, self.policy = [], {}, "", ""
        self.ids, self.links, self.stacks = [], [], []

    def handle_starttag(self, tag, attrs):
        assert tag in KNOWN, tag
        self.seen[tag] = self.seen.get(tag, 0) + 1
        attrs = dict(attrs)
        for key, value in attrs.items():
            assert key != "src" and not key.startswith("on"), (tag, key)
            if key == "href" and not value.startswith("data:text/csv"):
                assert value.startswith("#"), value
                self.links.append(value[1:])
            if key == "id":
                self.ids.append(value)
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        if attrs.get("class") == "stack":
            self.stacks.append(0)
        if tag == "i" and attrs.get("style", "").startswith("width:"):
            self.stacks[-1] += float(attrs["style"][6:-1])
        assert tag != "th" or attrs.get("scope") == "col", attrs
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
        self.text += data if self.open[-1:] not in (["style"], ["script"]) else ""


page = Page()
source = open(sys.argv[1], encoding="utf-8").read()
page.feed(source)
assert not page.open, page.open
assert sys.argv[2] in page.text, page.text[:2000]
assert "default-src 'none'" in page.policy and "script-src 'sha256-" in page.policy, page.policy
assert "url(" not in source and "@import" not in source
assert "http:" not in source and "https:" not in source
assert "color-scheme:light dark" in source and "max-width:820px" in source
assert len(page.ids) == len(set(page.ids)) and page.links and set(page.links) <= set(page.ids), (page.links, page.ids)
# Bars are to scale: the longest is the full width.
assert page.stacks and abs(max(page.stacks) - 100) < 0.02, page.stacks
print(len(page.stacks), "bars,", page.seen["table"], "tables,", page.seen["script"], "scripts")
