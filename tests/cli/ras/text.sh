# SPDX-License-Identifier: MIT
# The text of `ncclras`, with -v and without, gives the answer of the JSON of the same state. It counts one function
# where JSON counts all: states of AllReduce alone have equal numbers, others are compared without.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT/tests/cli/ras/snapshot.bash"
answer() { # FILE: the finding, and what is noted of ranks
    "$SPECTER" analyze "$1" --full --fail-on 'hangs>0' >out 2>err
    echo "status $?"
    sed -n '/^1\. /,/^2\. \|^More/p' out | grep -v '^2\. \|^More\|^$\|   Note\|kernels other\|reads as idle'
    grep 'is behind\|RAS\|asynchronous' err | sed "s/$1: //"
}
same() { # NAME [-v]: state.json as text
    python3 "$ROOT/tests/cli/ras/text.py" ${2-} <state.json >state.txt
    answer state.json >json && answer state.txt >text
    diff json text >difference && echo "$1: the same" || { echo "$1:"; cat difference; }
}
alone() { sed '/"Broadcast"\|"AllGather"/s/: [0-9]*/: 0/' "$1"; }
whole() { python3 -c 'import json, sys; s = json.load(sys.stdin); del s["communicators"][1:]; json.dump(s, sys.stdout)'; }

snapshot 5 >all.json
alone all.json >state.json && same 'one behind'
same 'one behind, -v' -v
cp all.json state.json && same 'other functions'
snapshot 0 1 | alone - >state.json && same 'two behind'
snapshot 0 1 2 | alone - >state.json && same 'three behind: listed with -v alone'
same 'three behind, -v' -v
snapshot 0 1 2 3 | alone - >state.json && same 'half, of which neither form of the text lists a rank' -v
snapshot 1 2 3 4 5 6 7 | alone - >state.json && same 'one ahead'
missing=5 snapshot 2 | alone - >state.json && same 'behind and lost' && cat text
snapshot 5 | sed 's/"considered_dead": false/"considered_dead": true/' | alone - >state.json && same 'dead'
grep 'dead' err
snapshot 5 | sed 's/"unresponsive": true/"unresponsive": false/' | alone - >state.json && same 'left'
grep 'left' err
snapshot | whole | sed 's/"async_error": 6/"async_error": 0/' >state.json && same 'all well'
cat text
