# SPDX-License-Identifier: MIT
"$SPECTER" predict p2p --bytes 1G --across --gpu v100_sxm
"$SPECTER" predict p2p --bytes 0 --gpu rtx_4090 --network consumer_pcie --json
# Four at once have a port each on this network, eight on the next one share one.
"$SPECTER" predict p2p --bytes 64M --across --flows 4 --gpu h100_sxm --explain | sed '/^assumes/,$d'
for flows in 1 2 8; do
    "$SPECTER" predict p2p --bytes 1G --across --flows $flows --gpu a100_pcie --network cloud_pcie_100g |
        grep algbw
done
# Both ways share the host's memory alone; all pairs share each GPU's port, and the NICs of a node.
ask() {
    "$SPECTER" predict p2p --bytes 64M "$@" 2>&1 | sed -n '1,/algbw/{ /./p }'
}
for direction in one_way both all; do
    ask --direction $direction --gpu h100_sxm --network dgx_h100_400g
done
ask --direction both --gpu rtx_4090 --network consumer_pcie
ask --direction all --ranks 4 --across --gpu h100_sxm --network dgx_h100_400g
"$SPECTER" predict p2p --bytes 1M --direction all --gpu h100_sxm --network dgx_h100_400g --json | grep 'direction\|ranks\|busbw'
for wrong in "--direction back" "--direction to_next" "--ranks 4" "--direction all --flows 2" "--direction all --ranks 9"; do
    "$SPECTER" predict p2p --bytes 1M $wrong --gpu h100_sxm --network dgx_h100_400g 2>&1
done
exit 0
