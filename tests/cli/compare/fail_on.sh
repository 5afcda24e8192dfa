# SPDX-License-Identifier: MIT
# --fail-on takes the names of analyze and of metrics, as values of the test, and with a sign as changes: one beyond
# its noise fails, one within it does not, and of one whose noise is not known it says so.
. "$ROOT"/tests/cli/compare/traces.bash
for i in 1 2 3; do
    trace base$i $((50 + 4 * i))
    trace near$i $((49 + 4 * i))
    trace slow$i $((80 + 4 * i))
done
said() {
    echo "--fail-on '$1'"
    "$SPECTER" compare "${@:2}" --table idle --format csv --fail-on "$1" 2>&1 >/dev/null
    echo "  status $?"
}
several=(base1,base2,base3 slow1,slow2,slow3)
said 'step_ms>+5%' base1 slow1
said 'step_ms>+50%' base1 slow1
said 'step_ms<-5%' slow1 base1
said 'step_ms>0.19' base1 slow1
said 'step_ms>+0%' base1 base2
said 'iter_time>+5%' "${several[@]}"
said 'step>+5%' "${several[@]}"
said 'step_ms>+0%' base1,base2,base3 near1,near2,near3
said 'step_ms<-0%' base1,base2,base3 near1,near2,near3
said 'worse>0' base1 slow1
said 'worse>0' base1,base2,base3 near1,near2,near3
# Of one run a side nothing tells how much a share varies, where no steps are marked; counts have no noise.
said 'exposed_comm>+5%' base1 slow1
said 'exposed_comm>+5%' "${several[@]}"
said 'comm>+5%' base1 slow1
said 'comm>+5%' "${several[@]}"
said 'comm>+90%' base1 slow1
said 'coll_call_num>+0%' base1 slow1
said 'coll_call_num<11' base1 slow1
said 'lost>+1%' base1 slow1
# Values that are not known, and texts that are no conditions.
said 'mfu<0.3' base1 slow1
said 'mfu<-3%,step_ms>+5%' base1 slow1
said 'bubble>+1%' base1 slow1
said 'worse>+5%' base1 slow1
said 'step_ms>5%' base1 slow1
said 'step_ms>+x%' base1 slow1
