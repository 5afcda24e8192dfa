# SPDX-License-Identifier: MIT
# A flight recording is read anew where it has changed: the last operations, and the one that hangs.
. "$ROOT/tests/cli/dump/common.bash"
. "$ROOT/tests/cli/watch/common.bash"
export SPECTER_RING=50 EMU_CLOCK=real RANK=0 WORLD_SIZE=1 LOCAL_RANK=0
mkdir traces
env -u LD_LIBRARY_PATH "$SPECTER" watch traces --json --interval 0.1 >out 2>err &
watch=$!
start traces
until_seen 'doc["ranks"] and doc["ranks"][0]["state"] in ("waits", "BLOCKED")' \
    'doc["ranks"][0]["op"], doc["ranks"][0]["step"], doc["hangs"][0]["cause"]'
stop
wait $watch
echo "status $?"
