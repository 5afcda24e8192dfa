# SPDX-License-Identifier: MIT
# From one rank to more than anybody has: a finite, positive time each.
for op in all_reduce all_gather reduce_scatter alltoall alltoallv broadcast reduce gather scatter; do
    for ranks in 1 2 8 9 1024 2147483647; do
        "$SPECTER" predict collective --op $op --bytes 1G --ranks $ranks --gpu h100_sxm \
            --network dgx_h100_400g --json | grep -q '"time_us":.[0-9]' || echo "$op $ranks"
    done
done
# As text, too, also where ranks fill no whole number of nodes.
"$SPECTER" predict collective --op all_reduce --bytes 1G --ranks 2147483647 --gpu h100_sxm \
    --network dgx_h100_400g | head -1
