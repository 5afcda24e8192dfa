# SPDX-License-Identifier: MIT
# The page of a benchmark: curves with their numbers as CSV, without a script, whatever the file is called.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cp "$TESTDATA/nccl_tests/one_nic.log" '<b onclick=x>"&.log'
"$SPECTER" bench report '<b onclick=x>"&.log' --html page.html --json rows.json >/dev/null || exit 1
python3 - <<'END'
import html.parser, json, urllib.parse
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.csv, self.title = {}, [], ''
    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.last = tag
        for name, value in attrs:
            assert not name.startswith('on'), name
            if name == 'href':
                assert value.startswith('data:text/csv;charset=utf-8,')
                self.csv.append(urllib.parse.unquote(value.split(',', 1)[1]).splitlines())
    def handle_data(self, data):
        if self.last == 'h1':
            self.title += data
            self.last = ''
page = Page()
page.feed(open('page.html').read())
print(page.title, page.tags['figure'], 'script' in page.tags, 'b' in page.tags)
rows = json.load(open('rows.json'))['runs'][0]['operations'][0]['rows']
rows = [r for r in rows if not r['in_place']]
for table in page.csv:
    print(table[0], len(table) - 1)
measured = [line.split(',') for line in page.csv[0] if line.startswith('measured')]
print(all(float(c[1]) == r['bytes'] and abs(float(c[2]) / r['time_us'] - 1) < 1e-5 for c, r in zip(measured, rows)),
      len(measured) == len(rows))
END
"$SPECTER" bench report '<b onclick=x>"&.log' --html /dev/full 2>&1 >/dev/null
echo "status $?"
