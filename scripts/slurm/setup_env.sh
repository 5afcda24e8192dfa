#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Once, on a login node: an environment with PyTorch and TorchTitan, and activate.sh, which the jobs read.
#
#   scripts/slurm/setup_env.sh [--dry-run] [WORKLOAD]
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

usage() {
    cat <<EOF
usage: scripts/slurm/setup_env.sh [--dry-run] [WORKLOAD]

Makes \$SPECTER_ENV (default \$SCRATCH/specter-env): an environment with the
packages of WORKLOAD's pyproject.toml (default: the first of examples/workloads),
by uv where it is there, else by venv and pip, and activate.sh. Builds specter
where there is none. --dry-run prints the commands.
EOF
}

dry=''
[[ ${1:-} != --dry-run ]] || { dry=1; shift; }
case ${1:-} in
-h | --help) usage && exit ;;
-*) fail 2 "'$1' is no option (see --help)" ;;
esac
workloads=("$ROOT"/examples/workloads/*-perlmutter-16)
project=${1:-${workloads[0]}}/pyproject.toml
[[ -f $project ]] || fail 3 "no '$project'"
[[ -n ${SPECTER_ENV:-} || -n ${SCRATCH:-} ]] ||
    fail 3 "no place for the environment: export SCRATCH=DIR or SPECTER_ENV=DIR"
folder=${SPECTER_ENV:-$SCRATCH/specter-env}
python=${PYTHON:-python3}

command -v "$python" >/dev/null || fail 3 "no '$python': module load python, or export PYTHON=FILE"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail 3 "$("$python" --version 2>&1 || echo "'$python'") is not Python 3.10 or later: module load python, or export PYTHON=FILE"

do_it() {
    echo "+ $*"
    [[ -n $dry ]] || "$@"
}

mapfile -t packages < <("$python" "$ROOT/examples/workloads/check_card.py" --packages "$project")
((${#packages[@]} > 0)) || fail 3 "$project: names no packages"
[[ -n $dry ]] || mkdir -p "$folder" || fail 3 "cannot write to '$folder'"
if command -v uv >/dev/null; then
    do_it uv venv --allow-existing --python "$python" "$folder/venv"
    do_it uv pip install --python "$folder/venv/bin/python" "${packages[@]}"
else
    do_it "$python" -m venv "$folder/venv"
    do_it "$folder/venv/bin/python" -m pip install --quiet "${packages[@]}"
fi
[[ -x ${BUILD:-$ROOT/build}/specter ]] || command -v specter >/dev/null || do_it "$ROOT/scripts/setup.sh" --build
echo "+ write $folder/activate.sh"
[[ -z $dry ]] || exit 0
cat >"$folder/activate.sh" <<EOF
# Made by scripts/slurm/setup_env.sh; jobs read it.
export SPECTER_ENV=$(printf %q "$folder") PYTHON=\${PYTHON:-$(printf %q "$folder/venv/bin/python")}
export PATH=$(printf %q "$folder/venv/bin"):\$PATH
EOF
echo "${0##*/}: done; next: examples/workloads/*/run.sh --steps 20"
