# SPDX-License-Identifier: MIT
# A trace of JAX: a rank a GPU, steps, times and bytes as they are; sizes of collectives are not in it.
. "$ROOT/tests/cli/xla/xla.bash"
trace 4 2 >node7.trace.json
"$SPECTER" analyze node7.trace.json 2>&1
"$SPECTER" analyze node7.trace.json --full 2>/dev/null | grep -A 8 '^Time per rank\|launched it'
"$SPECTER" analyze node7.trace.json --table copies,collectives 2>/dev/null
"$SPECTER" metrics node7.trace.json --metric iter_time,comm_volume 2>/dev/null | grep '^iter_time\|^comm_volume'
"$SPECTER" replay node7.trace.json --gpu b200 --from-gpu h100 2>/dev/null | head -n 1
head -c 2000 node7.trace.json >cut.json && "$SPECTER" analyze cut.json 2>&1 | grep byte
sed 's/"dur":900/"dur":-1/' node7.trace.json >bad.json && "$SPECTER" analyze bad.json 2>&1 | grep 'usable\|byte'
sed '/Stream\|details/d' node7.trace.json >none.json
"$SPECTER" analyze none.json 2>&1
echo "status $?"
{ grep -v process_name node7.trace.json | sed '$d' && grep process_name node7.trace.json && echo '{}]}'; } >late.json
"$SPECTER" analyze late.json 2>&1
{ head -n 1 node7.trace.json && grep details node7.trace.json | head -n 3 && sed 1d node7.trace.json; } >early.json
"$SPECTER" analyze early.json 2>&1 | grep 'left out'
echo "status ${PIPESTATUS[0]}"
