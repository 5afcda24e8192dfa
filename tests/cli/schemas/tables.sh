# The schemas that come from tables of the code: each record field, profile field and key of a card is in them, and
# what a validator refuses is what the program refuses. Traces and profiles of the program fit, unknown keys refused.
. "$ROOT"/tests/cli/python/common.bash
with_tools jsonschema
for name in trace profiles card; do
    "$SPECTER" help --schema $name >$name.json || exit 1
    "$ROOT/scripts/schemas.py" --strict $name.json >strict_$name.json
done
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$SPECTER" capture -o traces --nccl-plugin --sample 2 -- "$ROOT/examples/launch.sh" -n 2 "$BUILD/examples/train" --iters 3 >/dev/null 2>&1
"$SPECTER" capture -o pipeline -- "$ROOT/examples/launch.sh" -n 4 "$BUILD/examples/train" --pp 2 --iters 3 >/dev/null 2>&1
unset LD_LIBRARY_PATH
"$SPECTER" profiles --json >written.json
cat >cards.jsonl <<'END'
{"global_batch_size": 8, "model": {"num_params": "7e9"}, "data": {"batch_size": 4}}
{"model": {"seq_len": [4096]}}
END
"$tools" - "$ROOT" <<'PY'
import glob, json, re, sys
from jsonschema import Draft202012Validator as Validator

def schema(name):
    with open(name) as file:
        document = json.load(file)
    Validator.check_schema(document)
    return Validator(document)

trace, records = schema("strict_trace.json"), set()
for path in glob.glob("traces/*.jsonl") + glob.glob("pipeline/*.jsonl"):
    for line in open(path):
        record = json.loads(line)
        records.add(record.get("type") or record["event"])
        for error in trace.iter_errors(record):
            print(path, line[:100], error.message[:200])
if len(records) < 9:
    print("only", sorted(records))
good = json.loads(next(open(glob.glob("traces/*rank0.jsonl")[0])))
for bad in {**good, "pid": -1}, {**good, "host": 1}, {**good, "new": 1}, {k: good[k] for k in good if k != "run"}:
    if trace.is_valid(bad):
        print("a record that no tracer writes is valid")

# Each field of the header, by a reading of its own.
header = open(sys.argv[1] + "/include/specter/trace.h").read()
fields = {m[1].lower(): re.findall(r"X\((\w+), \w+, \w+\)", m[2])
          for m in re.finditer(r"#define SPECTER_(\w+)_FIELDS\(X\)((?:.*\\\n)*.*\n)", header)}
described = {one["title"]: list(one["properties"]) for one in json.load(open("trace.json"))["oneOf"]}
if fields != described:
    print("fields of trace.h:", fields, "\nof the schema:", described)

profiles = schema("profiles.json")
written = json.load(open("written.json"))
for one in [written, {"gpu": written["gpus"][0]}, written["networks"][0], {"gpu": {"name": "mine", "base": "h100_sxm"}}]:
    for error in profiles.iter_errors(one):
        print(str(one)[:80], error.message[:200])
for bad in {"gpu": {"name": "mine", "mem_GB": -1}}, {"gpu": {"name": "mine", "mem": 80}}, {"gpu": {"base": "h100_sxm"}}, \
        {"network": {"name": "n", "intra": "string"}}:
    if profiles.is_valid(bad):
        print("valid, but the program refuses it:", bad)

card = schema("card.json")
for line in open("cards.jsonl"):
    if not card.is_valid(json.loads(line)):
        print("refused:", line, end="")
for bad in {"global_batch_size": -1}, {"model": {"num_params": 1e17}}:
    if card.is_valid(bad):
        print("valid:", bad)
PY
