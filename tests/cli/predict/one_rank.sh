# SPDX-License-Identifier: MIT
# Where nothing moves there is no rate.
"$SPECTER" predict collective --op all_reduce --bytes 1G --ranks 1 --gpu h100_sxm \
    --network dgx_h100_400g | grep -E "^  (time|algbw|busbw)  "
"$SPECTER" predict collective --op all_reduce --bytes 1G --ranks 1 --gpu h100_sxm \
    --network dgx_h100_400g --explain | sed -n '/^where/,/^$/p'
for what in "1G --ranks 1" "0 --ranks 8"; do
    # shellcheck disable=SC2086  # several words
    "$SPECTER" predict collective --op all_reduce --bytes $what --gpu h100_sxm \
        --network dgx_h100_400g --json | grep -oE "(algbw|busbw)_GBps.*"
done
