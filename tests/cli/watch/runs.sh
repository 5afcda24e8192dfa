# SPDX-License-Identifier: MIT
# Of several runs in a folder the newest is shown, and how many files are of others.
. "$ROOT/tests/cli/watch/common.bash"
mkdir traces
{ init 0 2; op 0 2 1; } | sed 's/"run":"w","rank":0/"run":"old","rank":5/; s/"real_ns":[0-9]*/"real_ns":9/' >"${trace}5.jsonl"
{ init 0 1; op 0 1 1; } >"${trace}0.jsonl"
COLUMNS=100 "$SPECTER" watch traces --once | sed -n '2,6{s/[0-9.]* s  /AGE  /;p}'
