# SPDX-License-Identifier: MIT
# documented.py ROOT JSON...: prints what of these results of analyze its documents do not name.
import glob, json, re, sys
root, traces = sys.argv[1], sys.argv[2:]
page = open(root + "/docs/analyze.md").read()
text = page + "".join(open(root + "/docs/" + name).read() for name in ("communication.md", "clocks.md"))
listed = set(re.findall(r'"(\w+)"', page[page.index("\n## JSON\n"):]))
named = set(re.findall(r'"(\w+)"', text))
for words in re.findall(r"`([^`\n]+)`", text):
    named |= set(re.findall(r"\w+", words))
sheets = open(root + "/src/report/analyze_sheets.h").read()
listed |= {name for name in re.findall(r"\bX\((\w+), \d+\)", sheets) if name in named}  # the page says so
data = {"untimed_ops", "classes"}  # what is in them is named by its values

def walk(value, path):
    if isinstance(value, list):
        for one in value[:100]:
            walk(one, path + "[]")
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in named:
                missing.add(path + "." + key)
            if key not in data:
                walk(one, path + "." + key)

missing = set()
for trace in traces:
    result = json.load(open(trace))
    missing |= {"not in the list of JSON keys: " + key for key in result if key not in listed}
    walk(result, "")
columns = [c for file in glob.glob(root + "/src/report/sheet_*.c")
           for c in re.findall(r'\{"(\w+)",[^{}]*\bSHEET_', open(file).read())]
missing |= {"column " + c for c in columns if c not in named}
if len(columns) < 150 or not traces:
    print("only", len(columns), "columns found")
for one in sorted(missing):
    print("not documented:", one)
