# SPDX-License-Identifier: MIT
# A measurement that is read back from its folder is the same text and the same JSON (but for what temperatures.csv does
# not hold); so it is of two nodes, of a benchmark that was ended, and of the columns that PyTorch scripts leave.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_FABRIC=$PWD/fabric.conf MASTER_PORT=$((20000 + RANDOM % 10000))
same() {
    "$SPECTER" bench report "$1" --json again.json "${@:2}" >again.txt 2>again.err
    echo "status $?"
    diff first.txt again.txt
    diff first.err again.err
    python3 - <<'PY'
import json
first, again = (json.load(open(name)) for name in ("first.json", "again.json"))
for doc in first, again:
    for gpu in doc["state"]:
        gpu["bus_id"] = gpu["other_processes"] = None
print("the same" if first == again else [key for key in first if first[key] != again[key]])
PY
    rm -rf emu/*
}
printf '%s\n' 'slow_link = 2>3 0.4' 'clock_ppm = 3 3' 'memory_GiB = 2' >fabric.conf
"$SPECTER" bench p2p --gpus 4 --sizes 1:512M --drift 3 --network dgx_h100_400g -o out --json first.json >first.txt 2>first.err
head -1 first.txt
same out/*
printf '%s\n' 'gpus_per_node = 2' 'host_ppm = 1 -12' 'slow_link = 1>2 0.5' >fabric.conf
"$ROOT/examples/launch.sh" -n 4 -g 2 "$SPECTER" bench p2p --sizes 1:16M --drift 3 --network dgx_h100_400g -o two --full --json first.json >first.txt 2>first.err
sed -n 's/rank [23],/rank N,/; /FAIL/p' first.txt
same two/* --full
rm two/*/metadata_rank_[23].yml # of a node with a file system of its own
same two/* --full

echo "-- as a script leaves it"
mkdir script
cut -d, -f1-8 out/*/execution_log.csv >script/execution_log.csv
cut -d, -f1-6 out/*/temperatures.csv >script/temperatures.csv
"$SPECTER" bench report script 2>&1 | head -6
echo "-- times that go with the temperature"
mkdir warm
awk -F, -v OFS=, 'NR == 1 { print $0, "temperature" } NR > 1 { c = 40 + ($1 * $1 * 7 + $1 * 13) % 41; $8 = int($8 * (1 + 0.005 * (c - 60))); print $0, c }' \
    script/execution_log.csv >warm/execution_log.csv
"$SPECTER" bench report warm --json warm.json 2>/dev/null | grep -o '^Messages take .* % longer' | sed 's/0[.][4-6][0-9]/N/'
python3 -c 'import json; print(json.load(open("warm.json"))["temperature"]["samples"])'
echo "-- times of calls"
mkdir calls
awk -F, -v OFS=, 'NR > 1 { $8 = 42000 } { print }' script/execution_log.csv >calls/execution_log.csv
"$SPECTER" bench report calls 2>&1 >/dev/null
echo "-- bad rows"
mkdir bad
awk 'NR == 3 { $0 = "9,0,1,x,0,1,2,3" } NR == 4 { $0 = "9,0,1,8,0" } NR == 5 { $0 = "9,0,0,8,0,1,2,3" }
    NR == 6 { $0 = "9,0,1,8,0,1,2,-3" } NR == 7 { $0 = "9,0,1,1099511627777,0,1,2,3" } NR == 8 { $0 = "1,\"" }
    NR == 9 { $0 = "9,9999,1,8,0,1,2,3" } { print }' script/execution_log.csv | head -c -3 >bad/execution_log.csv
"$SPECTER" bench report bad 2>&1 >bad.txt
echo "status $?"
head -1 bad.txt
mkdir none head
"$SPECTER" bench report none 2>&1
echo 'a,b' >head/execution_log.csv
"$SPECTER" bench report head 2>&1
head -1 script/execution_log.csv >head/execution_log.csv
"$SPECTER" bench report head 2>&1
"$SPECTER" bench report script --fail-on 'links>0' 2>&1 >/dev/null | tail -1
left_behind
exit 0
