# SPDX-License-Identifier: MIT
# A real recording against itself is similar in every row; without a rank the answer says so, and its table is of the
# others.
traces=${SHARED:-$ROOT/../shared}/data/traces/param/dlrm_kineto.tar.gz
[ -e "$traces" ] || { echo "no ../shared/data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir base && tar -xzf "$traces" -C base
cp -r base again
cp -r base part
rm part/*/worker7*
"$SPECTER" compare base again --json same.json >text 2>/dev/null
head -n 1 text | sed 's/[0-9.]* ms/N ms/g'
"$SPECTER" compare base part --json part.json 2>/dev/null | head -n 1
python3 - <<'PY'
import json
same, part = (json.load(open(f + ".json"))["comparisons"][0] for f in ("same", "part"))
rows = [r for t in same.values() if isinstance(t, list) for r in t if isinstance(r, dict) and "verdict" in r]
print("rows:", len(rows) > 100, {r["verdict"] for r in rows}, {r["change"] for r in rows} <= {0, None})
print("causes:", [(c["kind"], c["change_us"]) for c in same["causes"]])
print("of rank 7:", sorted({r["verdict"] for r in part["ranks"] if r["what"].startswith("rank 7:")}))
print("of others:", sorted({r["verdict"] for r in part["ranks"] if not r["what"].startswith("rank 7:")}))
PY
