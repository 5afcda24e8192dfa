# SPDX-License-Identifier: MIT
# Every Kineto trace at hand against plain interval arithmetic, written down apart from specter's.
[[ -n $SHARED && -e $SHARED/data/traces/param/dlrm_kineto.tar.gz ]] ||
    { echo "no ../shared data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
n=0
for trace in "$SHARED"/data/traces/{hta,tracelens}/*{,/*}.json.gz "$SHARED"/data/traces/param/*kineto*; do
    [[ -f $trace ]] || continue
    "$SPECTER" analyze --full "$trace" --json said.json >/dev/null 2>err ||
        [[ $? == 4 ]] || { echo "$trace: failed"; cat err; } # 4: a rank of several
    python3 "$ROOT/tests/cli/kineto/arithmetic.py" "$trace" said.json
    n=$((n + 1))
done
[[ $n -ge 6 ]] || echo "only $n traces"
