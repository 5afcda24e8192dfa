# SPDX-License-Identifier: MIT
# A faster setting than a bad choice is found, with the gain that `bench collective` measures by NCCL's variables.
. "$ROOT/tests/cli/bench_tune/common.bash"
check 4 "4 GPUs"
