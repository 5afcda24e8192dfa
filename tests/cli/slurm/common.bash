# SPDX-License-Identifier: MIT
# For jobs on a real Slurm of two virtual nodes (tests/slurm/run.sh), with programs on the stand-ins.

export LD_LIBRARY_PATH=$BUILD/emu/lib
train=$BUILD/examples/train
small="--tp 2 --layers 2 --buckets 1 --hidden 64 --tokens 64"

# The nodes share this machine, so that a rank takes the GPU of its number in the whole job.
cat >rank.sh <<'E2'
export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_PROCID
exec "$@"
E2

# on_slurm COMMAND...: ends the test where no Slurm can be had.
on_slurm() {
    local status=0
    "$ROOT/tests/slurm/run.sh" "$@" >slurm.log 2>&1 || status=$?
    if [[ $status == 77 ]]; then
        cat slurm.log
        exit 77
    fi
    return $status
}

# Prints lines of capture, without those of Slurm and the program.
of_specter() { grep -h '^specter: ' "$@"; }
runs_of() { grep -ho '"run":"[^"]*"' "$1"/*.jsonl | sort | uniq -c | sed 's/^ *//'; }
