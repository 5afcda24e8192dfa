# SPDX-License-Identifier: MIT
# A file that grows in the middle of a line, a rank that starts late, one that begins anew, and the end.
. "$ROOT/tests/cli/watch/common.bash"
mkdir traces
export COLUMNS=100
"$SPECTER" watch traces --json --interval 0.1 >out 2>err &
watch=$!
until_seen 'doc["run"]["ranks"] == 0' '"nothing yet"'
{ init 0 2; step 1; op 0 2 1; op 0 2 2 | head -c 100; } >"${trace}0.jsonl"
until_seen 'doc["run"]["ranks"] == 1' 'doc["ranks"][0]["seq"], doc["ranks"][0]["step"]'
{ op 0 2 2 | tail -c +101; op 0 2 3; } >>"${trace}0.jsonl"
until_seen 'doc["ranks"][0]["seq"] == 3' 'doc["collectives"][0]["count"]'
{ init 1 2; for i in 1 2 3; do op 1 2 $i; done; } >"${trace}1.jsonl"
until_seen 'doc["run"]["ranks"] == 2' '[round(r["skew_us"], 3) for r in doc["ranks"]], doc["collectives"][0]["skew_us"]'
{ init 1 2; op 1 2 7; } >"${trace}1.jsonl"
until_seen 'doc["ranks"][1]["seq"] == 7' 'doc["ranks"][1]["seq"]'
rm "${trace}1.jsonl"
until_seen 'doc["run"]["ranks"] == 1' '"gone"'
closing >>"${trace}0.jsonl"
wait $watch
echo "status $?"
cat err
tail -n 1 out | grep -o '"state":"[a-z]*"'
