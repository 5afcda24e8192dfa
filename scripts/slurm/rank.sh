#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# One task of a job step as one rank, as torchrun would name it: rank.sh COMMAND...
set -eu
export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=${SLURM_STEP_NUM_TASKS:-$SLURM_NTASKS}
export LOCAL_WORLD_SIZE=$((WORLD_SIZE / ${SLURM_STEP_NUM_NODES:-$SLURM_NNODES}))
exec "$@"
