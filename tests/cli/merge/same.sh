# Shards give the bytes of the single process: 64 ranks on three hosts whose clocks are 11 s apart, profiles of another
# tool in an archive, and by all commands that read in shards.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o one -- "$ROOT/examples/launch.sh" -n 64 \
    "$BUILD/examples/train" --tp 8 --iters 3 >capture.out 2>&1 || { cat capture.out; exit 1; }
python3 - <<'PY'
import glob, json, os
os.mkdir("three")
for path in glob.glob("one/*.jsonl"):
    lines = [json.loads(line) for line in open(path)]
    host = lines[0]["rank"] // 22
    with open(os.path.join("three", os.path.basename(path)), "w") as out:
        for line in lines:
            if "mono_ns" in line:
                line["mono_ns"] += (0, 11000000000, -11000000000)[host]
            if "host" in line:
                line["host"] = "abc"[host]
            out.write(json.dumps(line, separators=(",", ":")) + "\n")
PY
same() { # NAME MERGE OWN: files of the command's stdout, and of what it said beside
    cmp "$2" "$3" && cmp "$2.said" "$3.said" && echo "$1: the same $(($(wc -c <"$3") > 100))"
}
both() { # N COMMAND TRACES [OPTION...]
    local n=$1 command=$2 traces=$3
    shift 3
    rm -rf specter_shards
    for ((i = n; i > 0; i--)); do # in any order
        "$SPECTER" "$command" "$traces" --shard "$i/$n" 2>/dev/null || echo "shard $i: status $?"
    done
    "$SPECTER" merge specter_shards -- "$@" >merged 2>merged.said
    echo "$command: status $?"
    "$SPECTER" "$command" "$traces" "$@" >own 2>own.said
    same "$command of $n" merged own
}
both 3 analyze three --json -
grep -c '"aligned":	true' merged
both 4 analyze three --full
both 100 metrics three --json -
both 2 export three --format chrome -o -
both 2 analyze "$ROOT/tests/data/kineto_two_ranks" --json -
tar -C "$ROOT/tests/data" -czf archive.tar.gz kineto_two_ranks
both 2 analyze archive.tar.gz --json -
. "$ROOT/tests/cli/ras/snapshot.bash"
mkdir ras && snapshot 5 >ras/behind.json
both 2 analyze ras --full
grep -c 'Possible hang: rank 5' merged
