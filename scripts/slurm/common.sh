# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Settings and functions of the scripts for Slurm, which source this file. Settings that the environment has already are
# kept.

SLURM_SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$SLURM_SCRIPTS/../.." && pwd)

# fail STATUS MESSAGE: 2 for an option, 3 for what is missing.
fail() {
    echo "${0##*/}: $2" >&2
    exit "$1"
}

# Where results go, in $TRACE_BASE.
need_scratch() { # [print], which makes nothing
    [[ -n ${TRACE_BASE:-} || -n ${SCRATCH:-} ]] ||
        fail 3 "no place for results: export SCRATCH=DIR (a file system that all nodes see) or TRACE_BASE=DIR"
    export TRACE_BASE=${TRACE_BASE:-$SCRATCH/ccl-bench-traces}
    [[ -z ${1:-} ]] || return 0
    if ! mkdir -p "$TRACE_BASE" 2>/dev/null || [[ ! -w $TRACE_BASE ]]; then
        fail 3 "cannot write to '$TRACE_BASE'"
    fi
}

# Whose hours the job takes, in $ACCOUNT.
need_account() {
    ACCOUNT=${NERSC_ALLOCATION:-${SLURM_ACCOUNT:-}}
    [[ -n $ACCOUNT ]] ||
        fail 3 "no account: export NERSC_ALLOCATION=NAME or SLURM_ACCOUNT=NAME, one of: sacctmgr -n show associations user=\$USER format=account"
}

# The environment that setup_env.sh has made.
load_environment() {
    local activate=${SPECTER_ENV:-${SCRATCH:-$HOME}/specter-env}/activate.sh
    # shellcheck source=/dev/null
    [[ ! -f $activate ]] || . "$activate"
    PYTHON=${PYTHON:-python3}
}

# The program, in $SPECTER: as named, of a build folder, else of PATH.
find_specter() {
    SPECTER=${SPECTER:-${BUILD:-$ROOT/build}/specter}
    [[ -x $SPECTER ]] || SPECTER=$(command -v specter) ||
        fail 3 "no specter in '${BUILD:-$ROOT/build}' or PATH: run scripts/setup.sh --build"
}

# VARIABLE|VALUE|nodes that it is for: all, or many (more than one)|the reason
SETTINGS='
NCCL_DEBUG|WARN|all|an error names its cause in the log, and nothing else is printed
NCCL_NET_GDR_LEVEL|PHB|all|NICs read GPU memory directly up to the distance of one CPU socket, as on nodes with a NIC a GPU
NCCL_IB_QPS_PER_CONNECTION|4|all|InfiniBand: four queue pairs a connection spread one message over several paths; other networks ignore it
OMP_NUM_THREADS|8|all|64 cores for four ranks: threads of all ranks fit without sharing cores with data loaders
FI_CXI_DISABLE_HOST_REGISTER|1|many|Slingshot: registering host memory with CUDA from the network library can deadlock with NCCL
FI_MR_CACHE_MONITOR|userfaultfd|many|Slingshot: the default monitor of registered memory misses memory that CUDA frees
'

# Exports the settings for a job of so many nodes; prints them where `print` is given.
set_nccl() { # NODES [print]
    local name value nodes reason
    while IFS='|' read -r name value nodes reason; do
        [[ -n $name && ($nodes == all || $1 -gt 1) ]] || continue
        export "$name=${!name:-$value}"
        [[ -z ${2:-} ]] || printf '  %s=%s    # %s\n' "$name" "${!name}" "$reason"
    done <<<"$SETTINGS"
    export MASTER_PORT=${MASTER_PORT:-29500}
    set_network "$@"
}

# Over several nodes NCCL needs its plugin for Slingshot: without it, it would talk TCP. Naming the network makes
# it stop rather than do so, but only where the plugin is there: elsewhere the name is one that NCCL does not know.
set_network() { # NODES [print]
    local folder
    (($1 > 1)) && [[ -z ${NCCL_NET:-} ]] || return 0
    while read -r -d : folder; do
        compgen -G "$folder/libnccl-net*.so" >/dev/null || continue
        export NCCL_NET="AWS Libfabric"
        [[ -z ${2:-} ]] || printf "  NCCL_NET='%s'    # plugin in %s: NCCL stops rather than talk TCP\n" "$NCCL_NET" "$folder"
        return 0
    done <<<"${LD_LIBRARY_PATH:-}:"
    echo "${0##*/}: no libnccl-net*.so in LD_LIBRARY_PATH: NCCL takes InfiniBand or TCP between nodes (on Perlmutter: module load nccl)" >&2
}
