# SPDX-License-Identifier: MIT
# The answer is the same whatever order an archive has the ranks' files in: of pipelines beside each
# other, each with a communicator of its own.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }
. "$ROOT"/tests/cli/scaling/common.bash
work=$PWD
capture h100 pp 8
cd "$trace" || exit
tar -cf "$work"/forward.tar -- *.jsonl
# shellcheck disable=SC2046
tar -cf "$work"/back.tar -- $(ls -r -- *.jsonl)
cd "$work" || exit
for input in "$trace" forward.tar back.tar; do
    "$SPECTER" analyze "$input" --format csv 2>/dev/null >"${input##*/}.csv"
done
"$SPECTER" analyze back.tar --table bubble --format csv 2>/dev/null | grep -o '^[01],"[^"]*"'
cmp "${trace##*/}.csv" forward.tar.csv && cmp forward.tar.csv back.tar.csv && echo "the same"
