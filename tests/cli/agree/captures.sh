# SPDX-License-Identifier: MIT
# Captures of the stand-ins: five ways to train in parallel; the same without marks.
. "$ROOT"/tests/cli/scaling/common.bash
. "$ROOT"/tests/cli/agree/common.bash
set -o pipefail
status=0
for pattern in $ALL; do
    capture h100 $pattern 8
    agree $pattern "$trace" | sed 's/, [0-9.]* ms//' || status=1
    mkdir plain
    for file in "$trace"/*.jsonl; do
        grep -v '"kind": *"iteration"' "$file" >plain/"${file##*/}"
    done
    agree "$pattern, unmarked" plain | sed 's/, [0-9.]* ms//' || status=1
    rm -r plain
done
exit $status
