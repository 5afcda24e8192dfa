# SPDX-License-Identifier: MIT
# The page a user sees, on a trace of NCCL and cuBLAS alone: what was not traced must be said.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze --full
