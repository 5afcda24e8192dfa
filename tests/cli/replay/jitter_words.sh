# SPDX-License-Identifier: MIT
# A request that cannot be fulfilled is one line, and status 2.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
try() { "$SPECTER" replay --full "$@" --scale 1,8; echo "status $?"; }
try --jitter much
try --jitter 5 --draws 1
try --straggler rank=3
try --straggler rank=16,slow=2
try --straggler node=2,slow=2
try --slow-link node=0,slow=0.5
try --failed-nic node=1,count=8
try --failed-nic node=0,count=x
try --network v100_nvlink_nowhere --slow-link node=0,slow=2
try --jitter 5 --seed -1
try --jitter 5 --seed 9007199254740992
