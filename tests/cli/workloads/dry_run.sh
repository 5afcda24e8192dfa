# --dry-run prints the whole job: how it is submitted, its directives, the settings with their reasons, the steps.
python3 -c '' 2>/dev/null || { echo "no python3"; exit 77; }
export BUILD SPECTER SCRATCH=$PWD NERSC_ALLOCATION=m0000 PYTHON=$PWD/python
printf '#!/bin/sh\nexec python3 -S "$@"\n' >python && chmod +x python # without PyTorch, wherever that is
shown() { "$@" 2>&1 | sed "s|$PWD|SCRATCH|g; s|$SPECTER|SPECTER|g; s|$BUILD|BUILD|g; s|$ROOT/||g; s/[0-9]\{8\}_[0-9]\{6\}/TIME/g; s/ *$//"; }
mkdir bin && printf '#!/bin/sh\n' >bin/nsys && chmod +x bin/nsys
PATH=$PWD/bin:$PATH shown "$ROOT/examples/workloads/llama3.1-8b-torchtitan-tp-perlmutter-16/run.sh" --dry-run --steps 20
mkdir plugin && : >plugin/libnccl-net.so
LD_LIBRARY_PATH=/nowhere:$PWD/plugin PROFILE_MODE=specter LOCAL=/tmp \
    shown "$ROOT/examples/workloads/qwen3-32b-torchtitan-3d-perlmutter-16/run.sh" --dry-run --example
PATH=/usr/bin:/bin shown "$ROOT/scripts/slurm/setup_env.sh" --dry-run
ls
