# SPDX-License-Identifier: MIT
# Two outputs in one file would lose one of them; a page is no data for stdout.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
for options in "--html out --json out" "--timeline out --html out" "--html -" "--timeline -"; do
    # shellcheck disable=SC2086
    "$SPECTER" replay --full --scale 1 $options
    echo "status $?"
done
ls
"$SPECTER" replay --full --scale 1 --html /dev/null --timeline /dev/null | head -n 1
