# SPDX-License-Identifier: MIT
. "$ROOT"/tests/cli/sweep/grid.bash
for options in "--threads -1" "--threads 5000" "--shard 0/2" "--shard 3/2" "--shard 1" "--shard a/b" \
    "--shard /2" "--shard 1/" "--shard 1/99999999999999999999" "--color red" "--thread 2"; do
    # shellcheck disable=SC2086  # two words
    "$SPECTER" sweep grid.json $options 2>&1 >/dev/null
    echo "  status $?"
done
"$SPECTER" sweep
echo "  status $?"
