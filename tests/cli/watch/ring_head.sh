# SPDX-License-Identifier: MIT
# A flight recording is there before its head is written, in a file that keeps its size: it is read again.
. "$ROOT/tests/cli/watch/common.bash"
mkdir traces
for ((i = 0; i < 64; i++)); do printf '%255s\n' ''; done >"${trace}0.jsonl"
"$SPECTER" watch traces --json --interval 0.1 >out 2>err &
watch=$!
until_seen 'doc["ranks"] == []' '"no rank yet"'
{ init 0 1 | sed 's/"coverage"/"ring":50,&/'; op 0 1 1; } | dd of="${trace}0.jsonl" conv=notrunc status=none
until_seen 'doc["ranks"]' 'doc["ranks"][0]["op"]'
kill $watch
wait $watch
exit 0
