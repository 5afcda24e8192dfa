# SPDX-License-Identifier: MIT
# Two nodes under mpirun, in 2.17's form, with a setting that NCCL told of and a result that was not checked.
"$SPECTER" bench report "$TESTDATA/nccl_tests/mpirun.log"
"$SPECTER" bench report "$TESTDATA/nccl_tests/mpirun.log" --full 2>/dev/null
