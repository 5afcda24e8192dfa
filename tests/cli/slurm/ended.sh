# Jobs that are cancelled, run out of time, or are requeued: with --local, too, every operation that had
# finished a second before is where the traces go; a requeued job is a new run, and the old one stays. A
# program that does not end when it is asked is killed together with the capture: what it recorded until
# then has been gathered meanwhile.
. "$ROOT/tests/cli/slurm/common.bash"
cat >batch.sh <<'B'
#!/usr/bin/env bash
export EMU_DIR=$PWD/$name SPECTER_EXAMPLE_ID=$PWD/$name/id$SLURM_RESTART_COUNT EMU_CLOCK=real
mkdir -p $name/disk
echo "start ${SLURM_RESTART_COUNT:-0}"
srun -N2 --ntasks-per-node=1 bash rank.sh "$SPECTER" capture -o $name/traces --local $name/disk -- \
    bash -c "$trap"' exec "$@"' train $train $small --iters 1000000
B
cat >job.sh <<'J'
submit() { # NAME [TRAP]
    name=$1 trap=${2-} sbatch --parsable --requeue --open-mode=append -o $1.txt -t 9 -N2 --ntasks-per-node=1 batch.sh
}
recorded() { # NAME FILES: waits until so many traces hold operations
    for i in {1..200}; do
        [[ $(cat $1/disk/*/*.jsonl 2>/dev/null | grep -c '"seq":20,') -lt $2 ]] || return 0
        sleep 0.1
    done
    echo "$1 recorded nothing"
}
timeout=$(submit timeout) cancel=$(submit cancel) requeue=$(submit requeue) deaf=$(submit deaf 'trap "" TERM;')
for name in timeout cancel requeue deaf; do recorded $name 2; done
scontrol update JobId=$timeout EndTime="$(date -d '+3 seconds' +%FT%T)" # a time that is past is refused
date +%s.%N >cancel.at
scancel $cancel $deaf
date +%s.%N >requeue.at
scontrol requeue $requeue
for i in {1..200}; do
    scontrol update JobId=$requeue StartTime=now >/dev/null 2>&1
    ! grep -q 'start 1' requeue.txt || break
    sleep 0.1
done
recorded requeue 2
date +%s.%N >again.at
scancel $requeue
for i in {1..900}; do # Slurm looks at time limits twice a minute
    [[ -n $(squeue -h) ]] || break
    sleep 0.1
done
date +%s.%N >timeout.over
J
export train small
on_slurm bash job.sh || { cat slurm.log; exit 1; }
cat slurm.log
cat >ends.py <<'P'
"""ends.py AT FILE...: of what ended more than a second before AT no number is missing, and the last operation ended
less than a second before AT. Host-timed operations are numbered in the order in which they end."""
import datetime, json, sys

at = float(sys.argv[1])
for name in sys.argv[2:]:
    ids, early, last = set(), -1, 0
    for line in open(name):
        try:
            record = json.loads(line)
        except ValueError:
            continue  # the last line, cut
        if record.get("event") == "init":
            began = record["real_ns"] / 1e9
        elif "id" in record and record["start_us"] is not None:
            ids.add(record["id"])
            end = began + (record["start_us"] + record["duration_us"]) / 1e6
            last = max(last, end)
            early = max(early, record["id"] if end < at - 1 else -1)
    missing = set(range(early)) - ids
    if missing:
        print(f"{name}: {len(missing)} operations of {early} are missing, the first is {min(missing)}")
    if last < at - 1:
        print(f"{name}: the last operation ended {at - last:.2f} s before")
P
limit=$(grep -o 'CANCELLED AT [^ ]* DUE TO TIME LIMIT' timeout.txt | head -n 1 | cut -d ' ' -f 3)
python3 ends.py "$(cat cancel.at)" cancel/traces/*.jsonl
python3 ends.py "$(cat requeue.at)" requeue/traces/specter_trace_rank[01].jsonl
python3 ends.py "$(cat again.at)" requeue/traces/specter_trace_rank[01].1.jsonl
python3 ends.py "$(date -d "$limit" +%s)" timeout/traces/*.jsonl
# The recording itself is where it was made: the capture was killed before it could remove it.
for rank in 0 1; do
    last=$(python3 -c '
import json, sys
first = json.loads(open(sys.argv[1]).readline())
ends = [0]
for line in open(sys.argv[1]):
    try:
        record = json.loads(line)
    except ValueError:
        continue
    if "id" in record and record["start_us"] is not None:
        ends.append(record["start_us"] + record["duration_us"])
print(first["real_ns"] / 1e9 + max(ends) / 1e6)' deaf/disk/*/specter_trace_rank$rank.jsonl)
    python3 ends.py "$last" deaf/traces/specter_trace_rank$rank.jsonl
done
for name in cancel requeue timeout deaf; do
    echo "-- $name"
    # On a busy machine one node's task ends before the other's has begun, and reports by itself.
    of_specter $name.txt | sed -z 's/specter: killed[^\n]*\nspecter: node [01] of the step:[^\n]*\n//g' |
        sed 's/at least [0-9]* op/at least N op/; s/rank[01]\(.*\)rank[01]/rankR\1rankR/'
    ls $name/traces $name/disk | sed 's/\(specter-[0-9.]*\)\.[A-Za-z0-9]*$/\1.X/'
    runs_of $name/traces
done
