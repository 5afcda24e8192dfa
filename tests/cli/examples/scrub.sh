# A trace with secrets in every text, in names of keys and in the file's name is public once scrubbed, and
# what specter says of a trace does not change by it.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
scrub() { python3 "$ROOT/tests/gpu/scrub.py" --secret gpu-17 --secret alice "$@"; }

# Every text of every record, one after the other, is each of the secrets.
cat >plant.py <<'PY'
import glob, json, os, sys
SECRETS = ["gpu-17.corp.example", "gpu-17", "/home/alice/run", "alice", "10.1.2.3", "fe80:0:0:1:2:3", "0a:1b:2c:3d:4e:5f",
           "GPU-5f0c6b3a-1111-2222-3333-444455556666", "alice@corp.example", "--token=hf_planted0123456789ab", "planted:hunter2",
           "2001:db8::planted:7334", "::1%planted", "C:\\planted", "~/planted", "planted LLM step 4", "cGxhbnRlZA==planted",
           "eyJhbGciOi.planted", "node-planted.cluster.local", "ip-10-0-3-17-planted", "svc-planted:29500", "planted_job_12345",
           "void k<planted>(char*)", "triton_poi_fused_planted_0", "ssh://planted@host", "tcp://[fe80::planted]:1", "${PLANTED}"]
count = 0
def plant(value):
    """The value with a secret in place of each of its texts, and one in a key."""
    global count
    if isinstance(value, dict):
        planted = {k: plant(v) for k, v in value.items()}
        count += 1
        odd = [s for s in SECRETS if not s.isidentifier() or kind == "kineto"] # the tracer's keys are all words
        return {**planted, odd[count % len(odd)]: 1}
    if isinstance(value, list):
        return [plant(v) for v in value]
    if isinstance(value, str):
        count += 1
        return SECRETS[count % len(SECRETS)]
    return value
def variants(record):
    """The record with one text after the other replaced by each secret, and with all."""
    for key, value in record.items():
        for secret in SECRETS:
            yield {**record, key: secret} if isinstance(value, str) else {**record, key: plant(value)}
    yield plant(record)
kind = sys.argv[1]
os.mkdir(kind)
if kind == "specter":
    wide = {"event": "init", "run": "r", "host": "h", "pid": 4711, "coverage": ["nccl"], "env": {"NCCL_X": "1", "HOME": "y"},
            "gpus": [{"device": 0, "name": "NVIDIA H200", "pci": "0"}], "window": "w"}
    end = {"event": "shutdown", "summary": {"nccl": {"AllReduce": 1}, "stopped": "s", "unseen": [{"kind": "static", "path": "p"}]}}
    records = [json.loads(line) for line in open(sys.argv[2]) if line.startswith("{")][:300]
    with open("specter/specter_trace_gpu-17_4711.jsonl", "w") as out:
        for record in [wide, end, *records]:
            for variant in variants(record):
                out.write(json.dumps(variant) + "\n")
else:
    profile = json.load(open(sys.argv[2]))
    events = [v for e in profile["traceEvents"] for v in variants(e)]
    made = {**plant(profile), "traceEvents": events, "traceName": "/home/alice/trace.json", "hostname": "gpu-17"}
    json.dump(made, open("kineto/gpu-17_4711.json", "w"))
PY
python3 plant.py specter "$TESTDATA/two_ranks/specter_trace_rank0.jsonl"
python3 plant.py kineto "$TESTDATA/kineto_two_ranks/rank0.json"
for kind in specter kineto; do
    scrub --check $kind >/dev/null 2>&1 && echo "$kind: secrets that --check does not see"
    zgrep -qi 'alice' $kind/* || echo "$kind: nothing was planted"
    scrub $kind
    ls $kind
    zgrep -Eio 'planted|gpu-?17|alice|corp|10\.1\.2|fe80|0a:1b|5f0c6b3a|/home|4711' $kind/* | sort | uniq -c
    scrub --check $kind
done

# A profile keeps what specter reads of it, and its kernels' classes.
mkdir profile
cp "$TESTDATA/kineto_torch211/rank0.json" profile
sed -i 's/"nvjet_tst_256x128_64x4_2x1_v_bz_ntT"/"alices_gemm"/' profile/rank0.json
"$SPECTER" analyze --full profile --json - 2>/dev/null >before
scrub profile
"$SPECTER" analyze --full profile --json - 2>/dev/null | diff before - | grep '^[<>]' | sort | uniq -c | head -n 20
zgrep -Eo '"name":"[a-z]*_kernel_[0-9]*"' profile/* | sort | uniq -c

# When it was recorded is no longer told, what lies between two times is.
cat >clocks.py <<'PY'
import gzip, json, sys
def clocks(path):
    with (gzip.open if path.endswith("gz") else open)(path, "rt") as lines:
        return [r[k] for r in map(json.loads, lines) for k in ("real_ns", "mono_ns") if k in r]
before, after = map(clocks, sys.argv[1:])
real, mono = {b - a for a, b in zip(before[::2], after[::2])}, {b - a for a, b in zip(before[1::2], after[1::2])}
print(min(after[::2]), min(after[1::2]), "one shift of each clock" if len(real) == len(mono) == 1 else "torn")
PY

# Figures stay, and a second time changes nothing.
cp -r "$TESTDATA/two_ranks" plain
mkdir public && cp plain/*.jsonl public
scrub public
python3 clocks.py plain/specter_trace_rank0.jsonl public/specter_trace_rank0.jsonl.gz
for folder in plain public; do
    "$SPECTER" analyze --full $folder 2>/dev/null | sed "s/^$folder\$/FOLDER/; s/^run [^,]*/run/; s/node-a/node1/" >$folder.txt
done
diff plain.txt public.txt
cat public/* >once
scrub public
cat public/* | cmp - once
