# SPDX-License-Identifier: MIT
# The table that nccl-tests prints, over sizes and numbers of ranks.
on="--gpu h100_sxm --network dgx_h100_400g"
# shellcheck disable=SC2086  # several words
{
    "$SPECTER" predict collective --op all_reduce --bytes 8:1G --factor 8 --ranks 8,16 $on
    "$SPECTER" predict collective --op reduce_scatter --bytes 3M:9M --step 3M --ranks 8 --dtype bf16 $on
    "$SPECTER" predict collective --op broadcast --bytes 1M --ranks 8,16 --dtype int8 $on
    "$SPECTER" predict p2p --bytes 0:4 --across $on
} | grep -v "^# More"
