# SPDX-License-Identifier: MIT
# No real trace is refused, and no figure of one is beyond what its hardware can do or what it lasts.
traces=$SHARED/data/traces
[[ -n $SHARED && -d $traces ]] || { echo "no ../shared data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT"/tests/cli/built.bash
needs SQLite
find "$traces" -name '*.json.gz' -o -name '*.sqlite' -o -name '*_kineto.tar.gz' | grep -v _et. | sort >list
ended() { # STATUS COMMAND TRACE: done, or part of the job is missing; else what it says
    [[ $1 == 0 || $1 == 4 ]] || { echo "$3: $2 ended with status $1"; tail -1 err; }
}
while read -r trace; do
    name=$(basename "$trace")
    "$SPECTER" analyze --full "$trace" --json analyze.json >out 2>err
    ended $? analyze "$name"
    "$SPECTER" metrics "$trace" --json metrics.json >out 2>err
    ended $? metrics "$name"
    "$SPECTER" replay --full "$trace" --json replay.json >out 2>err
    status=$?
    [[ $status == 2 ]] && grep -q -- --from-gpu err || ended $status replay "$name" # a GPU it does not know
    python3 "$ROOT"/tests/cli/analyze/possible.py "$name" analyze.json
done <list
