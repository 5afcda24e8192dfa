# SPDX-License-Identifier: MIT
# The critical path of captured data-parallel training, in which one rank has half as many tokens more than
# the others: it goes through that rank, and its parts add up. With equal ranks nobody is named.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >job.sh <<'END'
exec "$BUILD/examples/train" --iters 4 --tokens $([[ $RANK == $LATE ]] && echo 6144 || echo 4096)
END
cat >told.py <<'END'
import json, sys
a = json.load(sys.stdin)
c, path, ranks = a["critical"], a["critical_path"], a["critical_ranks"]
for rows, key, whole in ((path, "step_us", c["step_us"]), (ranks, "step_us", c["step_us"]),
                         (path, "share", 1), (ranks, "share", 1)):
    if abs(sum(row[key] for row in rows) - whole) > 1e-6 * whole:
        print(key, "adds up to", sum(row[key] for row in rows), "not", whole)
shares = {row["rank"]: row["share"] for row in ranks}
kinds = {}
for row in path:
    kinds[row["kind"]] = kinds.get(row["kind"], 0) + row["share"]
late = max(ranks, key=lambda row: row["margin_us"])
rules = [f["rule"] for f in a["findings"] if f["rule"] == "critical_rank" or "critical path is on it" in f["text"]]
print("steps", c["steps"], "unexplained below 1 %:", kinds.get("unexplained", 0) < 0.01,
      "| compute over half:", kinds["compute"] > 0.5, "|", *rules)
if rules:
    print("rank", ranks[0]["rank"], "has over 80 %:", ranks[0]["share"] > 0.8, "| later than others by most:", late["rank"])
END
export BUILD
for late in 2 0 none; do
    LATE=$late LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o $late -- "$ROOT/examples/launch.sh" -n 4 \
        bash job.sh >capture.out 2>&1 || { cat capture.out; exit 1; }
    echo "late: $late"
    "$SPECTER" analyze --full $late --json - | python3 told.py
done
# One rank of it: the others' lateness is not known, and that is said.
rm none/*rank[123]*
"$SPECTER" analyze --full none 2>/dev/null | grep -c 'not all members have times'
