# SPDX-License-Identifier: MIT
# As known.sh, with 8 GPUs.
. "$ROOT/tests/cli/bench_tune/common.bash"
check 8 "8 GPUs"
