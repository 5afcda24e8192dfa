# SPDX-License-Identifier: MIT
# A slow rank is as slow in whichever replica it sits; slow links count where they are crossed, and the
# reason is given where they are not.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
said() { # the sentences on it, whole
    awk '/^  - |^$/ { on = 0 } /injected fault|slow links|is not in the job/ { on = 1 } on' | sed 's/^ *//'
}
for what in "straggler rank=1,slow=1.5" "straggler rank=15,slow=1.5" "straggler rank=1,slow=1.05" \
    "slow-link node=0,slow=4" "failed-nic node=1,count=6"; do
    echo "== $what"
    "$SPECTER" replay --full --scale 1,8 --${what% *} "${what#* }" | said
done
