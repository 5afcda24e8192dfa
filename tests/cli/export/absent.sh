# SPDX-License-Identifier: MIT
# Of two ranks one has no trace: to whom it sent is not known, and a simulator that read of a rank -1
# would wait for it. The message is work with a time; an AllGather keeps its size.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
source "$ROOT/tests/cli/export/trace.bash"
rm traces/specter_trace_rank1.jsonl
"$SPECTER" export traces --format chakra
echo "status $?"
ls specter_chakra
cat specter_chakra/comm_groups.json
PYTHONPATH=$ROOT/tests/cli/export python3 -B "$ROOT/tests/cli/export/chakra.py" specter_chakra/specter.0.et |
    grep -v launch
