# SPDX-License-Identifier: MIT
# The page: the answer of the terminal as its heading, bars of the causes, every table with the numbers of the JSON;
# of three sides the ranking. Names from outside are text.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cp -r "$ROOT"/tests/cli/replay/data/two_ranks base
cp -r base test
python3 - <<'PY'
import glob, json
for path in glob.glob("test/*.jsonl"):
    lines = []
    for line in open(path):
        o = json.loads(line)
        if o.get("op") == "AllReduce":
            o["duration_us"] *= 1.2
        lines.append(json.dumps(o, separators=(",", ":")))
    open(path, "w").write("\n".join(lines) + "\n")
PY
"$SPECTER" compare base test --name 'base,<b>&"x"' --html page.html --json out.json >text 2>log
echo "status $?"
grep -c "wrote 'page.html'" log
cp -r base third
"$SPECTER" compare base test third --html many.html >ranking 2>log || cat log
python3 - <<'PY'
import html.parser, json, re
class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.text, self.ids, self.stack = {}, [], []
    def handle_starttag(self, tag, attrs):
        self.stack.append(tag)
        self.ids += [v for k, v in attrs if k == "id"]
    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag:
            pass
    def handle_data(self, data):
        for tag in set(self.stack):
            self.text.setdefault(tag, []).append(data)
def read(path):
    page = Reader()
    page.feed(open(path, encoding="utf-8").read())
    return page
page, doc = read("page.html"), json.load(open("out.json"))
heading = "".join(page.text["h1"])
first = " ".join(open("text").read().split())
print("the heading is the answer" if " ".join(heading.split()) in first else [heading, first])
print("label is text" if '<b>&"x"' in heading else heading)
print("labels as they are:", open("page.html", encoding="utf-8").read().count('<b>&"'))
print("ids are unique" if len(set(page.ids)) == len(page.ids) else "ids twice")
tables = doc["comparisons"][0]
wanted = [k for k, v in tables.items() if isinstance(v, list) and v and isinstance(v[0], dict) and "base_us" in v[0]]
print(len(wanted) > 3, [k for k in wanted if "t-" + k not in page.ids])
cells = "".join(page.text["td"])
lost = [row["what"] for k in wanted for row in tables[k] if row["what"] not in cells]
print("rows that the page lacks:", lost)
many = read("many.html")
print("ids are unique" if len(set(many.ids)) == len(many.ids) else "ids twice")
data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', open("page.html", encoding="utf-8").read(), re.S).group(1))
print([(p["side"], p["label"], p["step"] > 0) for p in data["panels"]])
links = {side: set() for side in ("base", "test")}
for row in data["rows"]:
    at = 0
    for link in row["links"][1::3]:
        at += link or 0
        links[row["side"]].add(at)
print("collectives of a side are its own:", bool(links["base"]) and not links["base"] & links["test"])
print("a timeline of several tests:", "application/json" in open("many.html").read())
print("".join(many.text["h1"]) in " ".join(open("ranking").read().split()), "third" in "".join(many.text["td"]))
PY
"$SPECTER" compare base test --html /dev/full/page.html >/dev/null 2>err
echo "status $?"
sed 's/:.*//' err
