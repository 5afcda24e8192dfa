# Dump sets of a made job of 16 ranks in tensor, expert and pipeline groups (job.py), with dead hosts,
# failed devices, a missing dump and a call that was left out; pickled by each protocol and as JSON, the
# whole ring and what has not ended alone. Who is named must be who was made to fail.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
check() {
    local blamed named
    rm -rf dumps && mkdir dumps
    blamed=$(python3 "$ROOT/tests/cli/flight/job.py" dumps "{$2}")
    "$SPECTER" analyze --full dumps --json out.json >out.txt 2>err.txt
    named=$(python3 -c 'import json
print(*sorted(r for h in json.load(open("out.json"))["hangs"] for r in h["ranks"]))')
    echo "$1: made to fail [$blamed], named [$named]"
}
check "one dead host" '"stop":{"9":30},"protocol":0'
check "the same, active only" '"stop":{"9":30},"active":true'
check "two in one group" '"stop":{"9":30,"10":30},"protocol":4,"active":true'
check "two far apart" '"stop":{"1":12,"14":6},"ahead":10,"protocol":5'
check "two, with the host far ahead" '"stop":{"3":20,"12":20},"ahead":30,"active":true,"first_id":500'
check "one that comes to its end only after the other" '"stop":{"5":8,"6":40},"ahead":2'
check "at a message" '"stop":{"4":6},"ahead":1,"first_id":500'
check "a failed device" '"blind":{"13":[20,24]},"active":true,"first_id":90'
check "two failed devices" '"blind":{"12":[21,26],"14":[21,24]},"active":true,"first_id":90,"ahead":20'
check "a failed device whose message has come" '"blind":{"15":[21,24]},"ahead":11,"micro":1,"first_id":1000'
check "a device and a host" '"blind":{"2":[9,12]},"stop":{"11":9},"ring":30,"first_id":90'
check "a small ring" '"stop":{"7":33},"ring":6,"first_id":90,"ahead":4'
check "the dump of the dead one is missing" '"stop":{"9":30},"missing":[9],"active":true'
sed -n 's/^ *1\. //p' out.txt | cut -c1-60
check "a call left out, and the hosts far ahead" '"skip":{"6":2},"ahead":30,"micro":1,"active":true'
grep -o '"cause":.*' out.json
