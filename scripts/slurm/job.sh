#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One recorded job: submits it, and inside an allocation runs it. Workloads call it from run.sh, job.sbatch for any
# other program.
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

usage() {
    cat <<EOF
usage: examples/workloads/NAME/run.sh [OPTIONS]
       scripts/slurm/job.sh [OPTIONS] --name NAME -- COMMAND...   inside a job

Outside an allocation: submits run.sbatch of the workload. Inside: runs it under
the profilers of PROFILE_MODE. Results go to \$TRACE_BASE/NAME; earlier ones move
to its folder .earlier.

options:
      --steps N     training steps; 20 is the test run (default: the config's)
      --example     examples/workloads/example.py in place of the model; without
                    PyTorch examples/train.c
      --dry-run     print the whole job and do nothing
      --name NAME   of a job without a workload
  -h, --help        show this help

environment:
  PROFILE_MODE      both (default): Nsight Systems, then PyTorch's profiler with
                    specter; nsys, torch, specter: this one alone
  TRACE_BASE        default \$SCRATCH/ccl-bench-traces
  NERSC_ALLOCATION or SLURM_ACCOUNT    whose hours the job takes
  BUILD, SPECTER    the build folder, or the program
  SPECTER_ENV       environment of setup_env.sh (default \$SCRATCH/specter-env)
  HF_ASSETS_ROOT    the folder of the models' tokenizers (docs/slurm.md)
  LOCAL             a disk of each node to record on (specter capture --local)

Exit status: 0 done; 2 bad option; 3 something is missing; else the program's.
EOF
}

dry='' steps='' example='' name='' workload='' extra=''
while [[ $# -gt 0 ]]; do
    case $1 in
    --dry-run) dry=1 ;;
    --example) example=1 ;;
    --steps | --name)
        [[ $# -gt 1 ]] || fail 2 "$1 needs a value (see --help)"
        [[ $1 == --name ]] && name=$2 || steps=$2
        shift
        ;;
    -h | --help) usage && exit ;;
    --) shift && break ;;
    -*) fail 2 "'$1' is no option (see --help)" ;;
    *)
        [[ -z $workload ]] || fail 2 "'$1': one workload at a time"
        workload=$(cd "$1" 2>/dev/null && pwd) || fail 3 "no folder '$1'"
        ;;
    esac
    shift
done
command=("$@")
mode=${PROFILE_MODE:-both}
[[ $mode =~ ^(both|nsys|torch|specter)$ ]] || fail 2 "PROFILE_MODE='$mode' is not both, nsys, torch or specter"
[[ -z $steps || $steps =~ ^[1-9][0-9]{0,8}$ ]] || fail 2 "--steps: '$steps' is no number of steps"
[[ -n $workload || (-n $name && ${#command[@]} -gt 0) ]] ||
    fail 2 "name a workload, or --name NAME -- COMMAND (see --help)"
name=${name:-${workload##*/}}
[[ $name =~ ^[A-Za-z0-9._+-]+$ ]] || fail 2 "--name: '$name' is no name for a folder"

need_scratch "$dry"
load_environment
results=$TRACE_BASE/$name
config=$workload/train_config.toml
card=$workload/workload_card.yaml
check_card=$ROOT/examples/workloads/check_card.py

# The card and the config, checked and against each other: sets dp_replicate, dp_shard, tp, pp, steps of the config,
# and so on.
if [[ -n $workload ]]; then
    values=$("$PYTHON" "$check_card" "$card" "$config" --values) || exit 3
    eval "$values" # card_tp=4 and the like: names and numbers alone
    # shellcheck disable=SC2154  # set there
    nodes=$card_nodes
    # shellcheck disable=SC2154
    per_node=$((card_gpus / card_nodes))
    steps=${steps:-$card_steps}
    assets=$(sed -n 's|^hf_assets_path = ".*/\(.*\)".*|\1|p' "$config")
    extra=$(sed -n 's|^custom_import = "\(.*\)".*|\1|p' "$config") # a module of examples/workloads
else
    nodes=${SLURM_NNODES:-1}
    per_node=$((${SLURM_NTASKS:-4} / nodes))
fi

# ---- the program ----

[[ -z $extra ]] || export PYTHONPATH=$ROOT/examples/workloads${PYTHONPATH:+:$PYTHONPATH}

# The command of each rank, under a profiler or none: $1 is `torch` where PyTorch's profiler records.
program_of() {
    local traced=("$PYTHON" "$SLURM_SCRIPTS/run_traced.py")
    [[ $1 != torch ]] || traced+=(--execution-trace "$results")
    if [[ ${#command[@]} -gt 0 ]]; then
        program=("${command[@]}")
    elif [[ -z $example ]]; then
        program=("${traced[@]}" -m torchtitan.train --job.config_file "$config" --job.dump_folder "$results"
            --training.steps "$steps")
        [[ -z ${HF_ASSETS_ROOT:-} ]] || program+=(--model.hf_assets_path "$HF_ASSETS_ROOT/$assets")
        [[ $1 == torch ]] || program+=(--profiling.no-enable-profiling)
    elif [[ -n $no_torch ]]; then
        program=("${BUILD:-$ROOT/build}/examples/train" --tp "$card_tp" --pp "$card_pp" --iters "$steps")
    else
        program=("${traced[@]}" "$ROOT/examples/workloads/example.py" --config "$config" --steps "$steps"
            --output "$results")
        [[ $1 == torch ]] || program+=(--no-profile)
    fi
}

# Sets no_torch to why there is no PyTorch.
find_torch() {
    no_torch=''
    "$PYTHON" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null ||
        no_torch="$PYTHON has no PyTorch"
    [[ ${#command[@]} -gt 0 || -z $no_torch ]] || {
        [[ -n $example ]] || [[ -n $dry ]] || fail 3 "$no_torch: run scripts/slurm/setup_env.sh once, or take --example"
        [[ -z $example ]] || echo "${0##*/}: $no_torch: examples/train.c runs in place of the model"
    }
}

# ---- one step under one profiler ----

# The step of a kind (nsys, torch, specter) in $step.
step_of() {
    local under=() capture=("$SPECTER" capture -o "$results" ${LOCAL:+--local "$LOCAL"} --)
    program_of "$1"
    case $1 in
    nsys) under=(nsys profile --output "$results/${name}_${stamp}_rank%q{SLURM_PROCID}" "--trace=cuda,nvtx,cublas"
        --sample=none --cpuctxsw=none --force-overwrite=true) ;;
    torch) [[ $mode == torch ]] || under=("${capture[@]}") ;;
    specter) under=("${capture[@]}") ;;
    esac
    step=(srun --nodes="$nodes" --ntasks-per-node="$per_node" --kill-on-bad-exit=1 "$SLURM_SCRIPTS/rank.sh" "${under[@]}"
        "${program[@]}")
}

run_step() {
    local log=$results/${name}_${stamp}.$1.log status=0
    step_of "$1"
    export SPECTER_EXAMPLE_ID=$results/.id_${stamp}_$1 # where examples/train.c leaves NCCL's unique id
    echo "$(date +%T) $1: ${step[*]}"
    "${step[@]}" 2>&1 | tee "$log" || status=$?
    ((status == 0)) || echo "${0##*/}: $1: status $status, log $log" >&2
    ((status == 0)) || worst=$status
    rm -f "$SPECTER_EXAMPLE_ID"
}

# ---- what came of it ----

# present WHAT PATTERN REASON: says what is there, or why it is not.
present() {
    local found=()
    mapfile -t found < <(compgen -G "$results/$2" | sort)
    if ((${#found[@]} > 0)); then
        printf '  %-24s %d\n' "$1" "${#found[@]}"
    else
        printf '  %-24s none: %s\n' "$1" "$3"
    fi
}

# TorchTitan has a folder for each profiled step; here all files of a run are in one.
flatten_profiles() {
    local file step
    for file in "$results"/profile_trace/*/*rank*.json*; do
        [[ -f $file ]] || continue
        step=${file%/*}
        mv "$file" "$results/profile_trace/${step##*/}_${file##*/}"
        rmdir "$step" 2>/dev/null || true
    done
}

link_first() {
    local file
    for file in "$results"/profile_trace/*rank0[._]*json; do
        [[ ! -f $file ]] || ln -sfn "profile_trace/${file##*/}" "$results/kineto_trace_0.json"
    done
    [[ ! -f $results/${name}_${stamp}_rank0.nsys-rep ]] ||
        ln -sfn "${name}_${stamp}_rank0.nsys-rep" "$results/${name}_${stamp}.nsys-rep"
}

inventory() {
    local torch_why="PROFILE_MODE=$mode" nsys_why="PROFILE_MODE=$mode" own_why="PROFILE_MODE=$mode"
    local logs=${name}_${stamp}
    [[ $mode != both && $mode != nsys ]] || nsys_why=${no_nsys:-"the step failed, see $logs.nsys.log"}
    [[ $mode != both && $mode != torch ]] || torch_why="no step was profiled, see $logs.torch.log"
    [[ -z $no_torch || $torch_why == PROFILE_MODE* ]] || torch_why=$no_torch
    [[ $mode != both && $mode != specter ]] || own_why="no NCCL or cuBLAS call was seen, see $logs.*.log"
    echo "$results:"
    present "${name}_${stamp}.nsys-rep" "${name}_${stamp}.nsys-rep" "$nsys_why"
    present "profile_trace/*rank*" 'profile_trace/*rank*.json*' "$torch_why"
    present kineto_trace_0.json kineto_trace_0.json "$torch_why"
    present "torch_et_*.json" 'torch_et_*.json' "$torch_why"
    present "*.log" "$logs.*.log" "no step was run"
    present "specter's traces" 'specter_trace_*.jsonl' "$own_why"
    echo "next: $ROOT/scripts/ccl-metrics --trace $results --metric iter_time"
}

# ---- all of it ----

find_specter
find_torch
no_nsys=''
command -v nsys >/dev/null || no_nsys="nsys is not in PATH (on Perlmutter: module load cudatoolkit)"
case $mode in
both) kinds=(nsys torch) ;; # CUPTI serves one profiler at a time: two runs
*) kinds=("$mode") ;;
esac
stamp=$(date +%Y%m%d_%H%M%S)

submit() {
    local line=(sbatch --account="$ACCOUNT" --job-name="$name" --nodes="$nodes" --output="$TRACE_BASE/${name}_%j.log"
        "--export=ALL,WORKLOAD=$workload,TRACE_BASE=$TRACE_BASE" "$workload/run.sbatch" --steps "$steps"
        ${example:+--example})
    if [[ -z $dry ]]; then
        exec "${line[@]}"
    fi
    echo "# submitted by:"
    printf '%q ' "${line[@]}" && echo
    grep '^#SBATCH' "$workload/run.sbatch"
}

if [[ -z ${SLURM_JOB_ID:-} ]]; then
    [[ -n $workload ]] || [[ -n $dry ]] || fail 3 "no allocation: sbatch scripts/slurm/job.sbatch --name NAME -- COMMAND"
    [[ -z $workload ]] || { need_account && submit; }
fi
if [[ -n $dry ]]; then
    echo "# settings:" && set_nccl "$nodes" print
    [[ -z $extra ]] || echo "  PYTHONPATH=$PYTHONPATH    # TorchTitan imports $extra.py from there"
    echo "# results: $results" && echo "# steps:"
    for kind in "${kinds[@]}"; do
        step_of "$kind"
        printf '%q ' "${step[@]}" && echo
        [[ $kind != nsys || -z $no_nsys ]] || echo "#   is left out: $no_nsys"
    done
    exit 0
fi

set_nccl "$nodes"
MASTER_ADDR=${MASTER_ADDR:-$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)}
export MASTER_ADDR
writer=$(cat "$results/.job" 2>/dev/null)
if [[ -n $writer && $writer != "$SLURM_JOB_ID" && -n $(squeue -h -j "$writer" -t R,CG 2>/dev/null) ]]; then
    fail 3 "job $writer still writes to '$results': wait for it, or export another TRACE_BASE"
fi
earlier=$results/.earlier/$stamp
for file in "$results"/*; do
    [[ -e $file || -L $file ]] || continue
    if ! mkdir -p "$earlier" || ! mv "$file" "$earlier/"; then
        fail 3 "cannot move '$file' to '$earlier'"
    fi
done
mkdir -p "$results" 2>/dev/null || fail 3 "cannot write to '$results'"
echo "$SLURM_JOB_ID" >"$results/.job" || fail 3 "cannot write to '$results'"
[[ -z $workload ]] || cp "$card" "$results/" || fail 3 "cannot write to '$results'"
worst=0
for kind in "${kinds[@]}"; do
    if [[ $kind == nsys && -n $no_nsys ]]; then
        echo "${0##*/}: $no_nsys: no Nsight Systems report"
        continue
    fi
    run_step "$kind"
done
flatten_profiles
link_first
inventory
rm -f "$results/.job"
exit $worst
