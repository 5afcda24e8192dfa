# SPDX-License-Identifier: MIT
# Captures on the stand-ins: what the closing records sum up is what the records hold, and what analyze without
# --summary says; also with messages in groups, and in a ring of which most has given way.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
train() { # DIR, options of capture --, of train
    local dir=$1
    shift
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o "$dir" "$@" >/dev/null 2>log || { cat log; exit 1; }
}
job=("$ROOT/examples/launch.sh" -n 4 "$BUILD/examples/train" --iters 3 --hidden 256 --tokens 64)
train tp -- "${job[@]}" --tp 2
train pp -- "${job[@]}" --pp 2 --micro 4
train whole -- "${job[@]}" --ep 2
train ring --ring 20 -- "${job[@]}" --ep 2
for dir in tp pp whole ring; do
    "$SPECTER" analyze --summary --json $dir.json $dir >/dev/null || echo "status $?"
    "$SPECTER" analyze --json $dir.full $dir >/dev/null 2>&1
done
python3 "$ROOT/tests/cli/analyze/closing_sums.py" tp pp whole ring
