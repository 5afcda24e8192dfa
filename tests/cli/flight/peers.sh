# One rank of a group of two leaves a call out: its calls and its partner's do not agree, and nothing in
# their group tells which is wrong. The groups that each shares with others do. Who is named must be who
# left it out; where only what has not ended is dumped and hosts call one thing at a time, the dumps do
# not tell, and say so.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
check() {
    local blamed named
    rm -rf dumps && mkdir dumps
    blamed=$(python3 "$ROOT/tests/cli/flight/job.py" dumps "{\"skip\":{$2},$3}")
    "$SPECTER" analyze --full dumps --json out.json >out.txt 2>err.txt
    named=$(python3 -c 'import json
print(*[h["cause"] + " " + str(h["ranks"]) + " undecided" * h["undecided"]
        for h in json.load(open("out.json"))["hangs"]])')
    echo "$1: left out by [$blamed], named $named"
}
check "an all-gather" '"4":1' '"ahead":30,"micro":1'
check "a reduce-scatter" '"9":32' '"ahead":30,"micro":1'
check "the same, active only" '"9":32' '"ahead":30,"micro":1,"active":true'
check "an all-gather in the middle" '"5":57' '"ahead":8,"micro":3'
check "the host waits for each call" '"12":18' '"ahead":1,"micro":3'
check "the same, an all-gather" '"1":11' '"ahead":1,"micro":2'
check "one of two equal calls" '"14":7' '"ahead":8,"micro":3,"active":true'
sed -n '/1\. /,/^2/p' out.txt | sed '$d'
check "a small ring" '"6":33' '"ahead":4,"micro":3,"ring":12,"first_id":90'
check "a message" '"0":48' '"ahead":2,"micro":2'
check "active only, and no call ahead" '"15":4' '"ahead":1,"micro":3,"active":true'
sed -n '/1\. /,/^2/p' out.txt | sed '$d'
check "the same, in a circle" '"2":6' '"ahead":1,"micro":1,"active":true'
sed -n '/1\. /,/^2/p' out.txt | sed '$d'
check "a dump is missing, too" '"9":32' '"ahead":30,"micro":1,"missing":[3]'
sed -n '/1\. /,/^2/p' out.txt | sed '$d'
