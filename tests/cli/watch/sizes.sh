# SPDX-License-Identifier: MIT
# One rank, also on 60 columns, where less important columns are left out; and 64 of which one is not there: the others wait,
# and it is named.
. "$ROOT/tests/cli/watch/common.bash"
mkdir traces
{ init 0 1; op 0 1 1; op 0 1 2; } >"${trace}0.jsonl"
COLUMNS=100 "$SPECTER" watch traces --once | sed 's/, [0-9.]* s$/, AGE/; s/[0-9.]* s   /AGE   /'
COLUMNS=60 "$SPECTER" watch traces --once | awk 'length > 60 { print "too long" } /^  rank/ { $1 = $1; print }'
for rank in {0..63}; do
    { init $rank 64; op $rank 64 1; [[ $rank == 17 ]] || op $rank 64 2 none; } >"$trace$rank.jsonl"
done
COLUMNS=100 "$SPECTER" watch traces --once >out
grep -c 'waits$' out
grep -o '^ *17 .*BLOCKED$' out | sed 's/  [0-9.]* s  /  AGE  /'
sed -n '/^Rank/,$p' out | tr -s '\n ' ' ' | sed 's/ waited for .*/ waited for TIME/'
