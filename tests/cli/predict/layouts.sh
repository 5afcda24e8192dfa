# SPDX-License-Identifier: MIT
# Where the ranks sit: node after node, or as it is said; always printed.
title() {
    "$SPECTER" predict collective --op all_reduce --bytes 64M --gpu h100_sxm --network dgx_h100_400g \
        "$@" | head -n 1
}
title --ranks 8
title --ranks 12
title --ranks 12 --nodes 3
title --ranks 13 --nodes 4
title --ranks 4 --gpus-per-node 1
title --ranks 7 --gpus-per-node 3
title --ranks 7 --gpus-per-node 4 --nodes 2
# One rank a node.
"$SPECTER" predict collective --op all_reduce --bytes 1G --ranks 8 --nodes 8 --gpu h100_sxm \
    --network dgx_h100_400g --json | grep -E '"(ranks|nodes|per_node|bound)"'
