#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs specter in a container that does not have it: `specter experiment` with the tracer mounted.
#
#     examples/container.sh [--print] docker|podman|apptainer IMAGE ARGUMENT...
#     examples/container.sh docker nvcr.io/nvidia/pytorch:25.06-py3 \
#         experiment --preset nccl_tuning -o tuning -- torchrun --nproc-per-node 8 train.py
#
# ARGUMENTs are specter's. This folder is the container's, under the same name, so that results stay here. specter and
# libspecter.so are those of this machine (PATH, or SPECTER and SPECTER_LIB), read-only; where the image's glibc is older
# than they need, those of `make release` run. --print: the command line alone. Returns the status of the container.
set -eu

usage() {
    echo "usage: ${0##*/} [--print] docker|podman|apptainer IMAGE ARGUMENT..." >&2
    exit 2
}

print=
[[ ${1:-} != --print ]] || { print=1 && shift; }
(($# >= 3)) || usage
engine=$1 image=$2
shift 2

specter=${SPECTER:-$(command -v specter || true)}
[[ -n $specter && -x $specter ]] || { echo "${0##*/}: no specter in PATH; SPECTER=FILE names one" >&2 && exit 3; }
specter=$(realpath "$specter")
library=${SPECTER_LIB:-}
for file in "${specter%/*}/libspecter.so" "${specter%/*/*}/lib/specter/libspecter.so"; do
    [[ -n $library || ! -e $file ]] || library=$file
done
[[ -e $library ]] || { echo "${0##*/}: no libspecter.so beside $specter; SPECTER_LIB=FILE names it" >&2 && exit 3; }
library=$(realpath "$library")

inside=/opt/specter
case $engine in
docker | podman)
    # Docker's root is the host's: results belong to who asks. In podman root is that already.
    gpus=(--gpus all --user "$(id -u):$(id -g)" -e "HOME=$PWD")
    [[ $engine == docker ]] || gpus=(--device nvidia.com/gpu=all)
    # NCCL wants shared memory of the host, and locked memory for its network.
    line=("$engine" run --rm "${gpus[@]}" --ipc host --ulimit memlock=-1 --network host
        -v "$specter:$inside/specter:ro" -v "$library:$inside/libspecter.so:ro" -v "$PWD:$PWD" -w "$PWD"
        -e "SPECTER_LIB=$inside/libspecter.so" "$image" "$inside/specter" "$@")
    ;;
apptainer)
    line=(apptainer exec --nv --bind "$specter:$inside/specter:ro,$library:$inside/libspecter.so:ro,$PWD:$PWD"
        --pwd "$PWD" --env "SPECTER_LIB=$inside/libspecter.so" "$image" "$inside/specter" "$@")
    ;;
*) usage ;;
esac
if [[ -n $print ]]; then
    printf '%q ' "${line[@]}"
    echo
    exit
fi
exec "${line[@]}"
