# SPDX-License-Identifier: MIT
# Facts that a log lacks are asked for with the words to type; what options say must agree with it.
# A GPU without a profile is no reason to refuse: its rows are shown as measured.
ask() { echo "--- $*"; "$SPECTER" bench report "$@" 2>&1; echo "status $?"; }
row='  67108864  2097152  float  none  -1  300.0  223.70  195.74  0'
echo "$row" >gather.log
ask gather.log
ask gather.log --op all_gather
ask gather.log --op all_gather --gpu h100_sxm | head -4
ask gather.log --op all_reduce --gpu h100_sxm # the columns are not of one
echo '  67108864  16777216  float  none  0  300.0  223.70  223.70  0' >broadcast.log
ask broadcast.log --gpu h100_sxm
ask broadcast.log --gpu h100_sxm --nodes 2 --gpus-per-node 4 --network dgx_h100_400g | head -2
sed 's/H100 80GB HBM3/Riva TNT2/' "$TESTDATA/nccl_tests/mpirun.log" >unknown.log
ask unknown.log
ask unknown.log --full | tail -12
"$SPECTER" bench report unknown.log --json - 2>/dev/null | grep profile
# Without a GPU's profile a network predicts nothing: it is said, and its name is checked all the same.
ask unknown.log --network dgx_h100_400g | head -2
"$SPECTER" bench report unknown.log --network dgx_h100_400g --json - 2>/dev/null | grep profile
ask unknown.log --network no_such_network
ask "$TESTDATA/nccl_tests/mpirun.log" --nodes 3 --gpus-per-node 8 | sed "s|$TESTDATA|DATA|"
# Operations that the models do not know are shown as measured.
sed 's/all_reduce_perf/hypercube_perf/' "$TESTDATA/nccl_tests/mpirun.log" >hypercube.log
ask hypercube.log
