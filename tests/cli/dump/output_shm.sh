# SPDX-License-Identifier: MIT
# -o OUT on another file system is refused, and nothing is made there.
[[ -w /dev/shm && $(stat -c %d /dev/shm) != $(stat -c %d .) ]] || { echo "no second file system at /dev/shm"; exit 77; }
mkdir traces
echo '{"event":"init","version":1,"run":"r","rank":0,"host":"h","real_ns":1}' >traces/specter_trace_rank0.jsonl
"$SPECTER" dump -o "/dev/shm/specter-test.$$" traces 2>&1 | grep -c 'not on the file system of' >other
[[ $(<other) == 1 && ! -e /dev/shm/specter-test.$$ ]] || echo "on another file system"
