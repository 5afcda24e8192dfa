# SPDX-License-Identifier: MIT
# Every way to do a collective, NCCL's choice among them, and where it changes.
on="--gpu h100_sxm --network dgx_h100_400g"
# shellcheck disable=SC2086  # several words
{
    "$SPECTER" predict collective --op all_reduce --bytes 4M --ranks 16 $on --explain
    "$SPECTER" predict collective --op all_to_all --bytes 1M --ranks 8 $on --explain
} | sed '/^assumes/,/^$/d'
# shellcheck disable=SC2086
"$SPECTER" predict collective --op all_reduce --bytes 16K:1G --factor 32 --ranks 8,32 $on --explain |
    grep -v "^# assumes"
