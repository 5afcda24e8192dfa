# Every command line of the manual's pages runs here, on the stand-ins and with stubs for launchers that start
# ranks as the real ones do; or the table says why not.
python3 -c '' 2>/dev/null || { echo "no python3"; exit 77; }
not_run='scripts/setup.sh --build|builds and installs; make check-root runs it
make demo|tests/cli/main/readme
specter doctor|tests/cli/doctor: its answer is about this machine
scripts/profile_node.sh|tests/cli/profile_node
srun |tests/cli/slurm/step
mpirun |tests/cli/slurm/mpirun
sbatch |tests/cli/slurm/job
examples/workloads/llama3.1-8b-torchtitan-tp-perlmutter-16/run.sh --steps 20|tests/cli/slurm/workload_llama3_1_8b_tp
scripts/slurm/submit_all.sh|submits what tests/cli/slurm/workload_* run
specter dump|needs a program that hangs: tests/cli/dump'
mkdir bin && cd bin
stand_in() { # NAME TEXT
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$1"
    chmod +x "$1"
}
train="$BUILD/examples/train --tp 2 --iters 30 --layers 2 --buckets 1 --hidden 64 --tokens 64"
stand_in torchrun '[[ $1 == --nproc_per_node=[1-9]* ]] || exit 2; exec "$ROOT/examples/launch.sh" -n ${1#*=} '"$train"
stand_in deepspeed '[[ $1 != --hostfile=* ]] || { . <(sed "s/^/export /" .deepspeed_env); shift; set -- --num_gpus=2 "$@"; }
[[ $1 == --num_gpus=[1-9]* ]] || exit 2; exec "$ROOT/examples/launch.sh" -n ${1#*=} '"$train"
stand_in vllm '[[ "$*" == "serve MODEL --tensor-parallel-size 2" ]] || exit 2; exec "$ROOT/examples/launch.sh" -n 2 '"$train"
stand_in python '[[ $1 == *.py ]] || exit 2; exec "$ROOT/examples/launch.sh" -n 2 '"$train"
ln -s "$SPECTER" specter
cd ..
export PATH=$PWD/bin:$PATH LD_LIBRARY_PATH=$BUILD/emu/lib ROOT BUILD SPECTER PYTHON=python3
ln -s "$ROOT"/{scripts,examples,tests} .
mkdir scratch
specter capture -o traces -- torchrun --nproc_per_node=8 train.py >log 2>&1 || cat log
for page in getting-started slurm launchers troubleshooting; do
    echo "-- $page"
    while IFS= read -r line; do
        why=$(while IFS='|' read -r begin reason; do
            [[ $line != "$begin"* ]] || { echo "$reason" && break; }
        done <<<"$not_run")
        if [[ -n $why ]]; then
            echo "not run ($why): $line"
            continue
        fi
        line=${line//\/scratch\/me/$PWD\/scratch}
        if [[ $line == export* ]]; then
            eval "$line"
            continue
        fi
        rm -f id
        status=0
        bash -c "$line" >log 2>&1 || status=$?
        echo "status $status: $line"
        [[ $status == 0 ]] || tail -n 3 log
    done < <(sed '/^```/,/^```$/d' "$ROOT/docs/$page.md" | sed -n 's/^    \([^ ].*\)/\1/p')
done | sed "s|$PWD/||g" | grep -v '^status 0: PATH'
# The variables that the stand-in was handed by .deepspeed_env made the second capture.
ls traces | wc -l
# The Kubernetes file names what --print-env prints.
specter capture -o /traces --print-env | sed -n 's/^export \([A-Z0-9_]*\)=.*/\1/p' | sort >wanted
sed -n '/^```yaml/,/^```$/p' "$ROOT/docs/launchers.md" | grep -o '{name: [A-Z][A-Z0-9_]*, value' | grep -o '[A-Z][A-Z0-9_]*' |
    sort | uniq -c | awk '$1 == 1 { print $2 }' | diff wanted - && echo "the pod hands over all of these"
grep -o '"\(LD_PRELOAD\|NVTX_INJECTION64_PATH\|SPECTER_OUTPUT\)"' "$ROOT/docs/launchers.md" | tr -d '"' | sort -u | diff wanted - &&
    echo "and so does Ray"
