# SPDX-License-Identifier: MIT
# One page that needs nothing else, with what comes from outside escaped.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
dir='a<b>&"c'\''$(d)'
cp -r "$ROOT"/tests/cli/replay/data/two_ranks "$dir"
"$SPECTER" replay --full "$dir" --gpu a100_sxm --tokens 4096 --scale 1,2,1024 --html out.html | tail -n 1
cat >check.py <<'END'
import html.parser
VOID = {"meta", "br", "line", "circle", "path", "polyline", "rect"}
OPTIONAL = {"td", "th", "tr", "li", "dt", "dd", "p"}
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text, self.bars, self.policy = [], {}, "", [], ""
    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        for key, value in attrs:
            assert key not in ("src", "href") and not key.startswith("on"), (tag, key)
            if tag == "meta" and key == "content" and dict(attrs).get("http-equiv") == "Content-Security-Policy":
                self.policy = value
            if key == "style" and value.startswith("width:"):
                self.bars[-1] += float(value[6:-1])
            if (key, value) == ("class", "stack"):
                self.bars.append(0)
        if tag not in VOID:
            self.open.append(tag)
    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and self.open[-1] in OPTIONAL:
            self.open.pop()
        assert self.open and self.open.pop() == tag, tag
    def handle_data(self, data):
        self.text += data if self.open[-1:] != ["style"] else ""
    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
page = Page()
source = open("out.html", encoding="utf-8").read()
page.feed(source)
assert not page.open, page.open
assert "Replay of a<b>&\"c'$(d)" in page.text, page.text[:200]
assert "script" not in page.seen and "b" not in page.seen and "link" not in page.seen
assert "url(" not in source and "@import" not in source and "http:" not in source and "https:" not in source
assert page.policy and "script-src" not in page.policy and "default-src 'none'" in page.policy
assert len(page.bars) == 3 and all(abs(b - 100) < 0.02 for b in page.bars), page.bars
for words in ("Critical path", "% of the step is", "Assumptions", "tokens/s", "prefers-color-scheme:dark"):
    assert words in page.text or words in source, words
print(page.seen["svg"], "drawings,", len(page.bars), "stacks,", page.seen["table"], "tables")
END
python3 check.py
"$SPECTER" replay --full "$dir" --gpu a100_sxm --tokens 4096 --scale 1,2,1024 --html again.html >/dev/null
cmp out.html again.html && echo "the same bytes"
# With variation: P50 and P95, in the table and the chart.
"$SPECTER" replay --full "$dir" --jitter 5 --scale 1,64 --html varied.html >/dev/null
grep -o '<th>P50<th>P95' varied.html
grep -o 'rect class=varied' varied.html | wc -l
