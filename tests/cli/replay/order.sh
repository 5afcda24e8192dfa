# SPDX-License-Identifier: MIT
# Assumptions begin with what was asked for: the hardware, what grows, what an operation takes there,
# what varies; how the recording was understood comes behind. Nothing is counted that there is not, and
# nothing has changed by -0.0 %.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full --gpu a100_sxm --jitter 3 --straggler rank=0,slow=1.1 --scale 1,8 >out.txt 2>/dev/null
awk '/^assumptions/ { on = 1; next } /^$/ { on = 0 } on && /^  - /' out.txt | cut -c 5-40
grep -e '-0\.0 %' -e '(0)' out.txt
"$SPECTER" replay --full --gpu v100_sxm --from-network dgx_a100_200g --scale 1,64 2>/dev/null | sed -n '/^the interval/,/^$/p'
"$SPECTER" replay --full --tokens 1e15 --scale 1,64 2>/dev/null | sed -n '/^  GPUs/,/^$/p;' | head -n 4
exit 0
