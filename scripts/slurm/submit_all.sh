#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Submits every workload of examples/workloads: submit_all.sh [OPTION...], which go to each run.sh.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
case ${1:-} in
-h | --help) exec "$SLURM_SCRIPTS/job.sh" --help ;;
esac
dry=''
for option; do
    [[ $option != --dry-run ]] || dry=1
done
need_scratch "$dry"
need_account
worst=0
for workload in "$ROOT"/examples/workloads/*-perlmutter-16; do
    "$workload/run.sh" "$@" || worst=$?
done
exit $worst
