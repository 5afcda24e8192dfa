# SPDX-License-Identifier: MIT
# No folder, an empty one, one with a file that is no trace, a file in place of a folder, and options that are wrong.
mkdir empty other
echo '{"event":"init"' >other/specter_trace_rank0.jsonl
for args in missing empty other other/specter_trace_rank0.jsonl "empty other" "empty --interval 0" \
    "empty --fail-on hangs>0 --interval 1" "other --fail-on steps>1"; do
    [[ $args == *fail-on*interval* ]] || once=--once
    "$SPECTER" watch $args $once
    echo "$args: status $?"
    once=
done 2>&1
timeout --preserve-status -s INT 1 "$SPECTER" watch empty >out
echo "status $?"
cat out
