#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Submits this workload, or runs it inside an allocation; --help has the options.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$here/../../../scripts/slurm/job.sh" "$@" "$here"
