# SPDX-License-Identifier: MIT
# JSON and CSV hold the same; a table in a file is what stdout gets.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT"/tests/cli/sweep/grid.bash
"$SPECTER" sweep grid.json -o table.csv --json rows.json 2>/dev/null
"$SPECTER" sweep grid.json 2>/dev/null >stdout.csv
cmp table.csv stdout.csv
"$SPECTER" sweep grid.json --json - 2>/dev/null >stdout.json
cmp rows.json stdout.json
python3 - <<'END'
import csv, json
table = list(csv.DictReader(open("table.csv", newline="")))
doc = json.load(open("rows.json"))
assert doc["schema"] == "specter.sweep/1" and doc["points"] == 18 == len(doc["rows"]) == len(table)
assert doc["ok"] == 15 and doc["failed"] == 3 and doc["partial"] == 0
for row, want in zip(doc["rows"], table):
    assert list(row) == list(want)
    for key, value in row.items():
        if isinstance(value, bool):
            value = str(value).lower()
        text = want[key]
        same = value == float(text) if isinstance(value, (int, float)) else (value or "") == text
        assert same, (key, value, text)
assert len({row["id"] for row in table}) == 18
END
