# SPDX-License-Identifier: MIT
"$SPECTER" predict p2p --bytes 1G --across --gpu v100_sxm
"$SPECTER" predict p2p --bytes 0 --gpu rtx_4090 --network consumer_pcie --json
# Four at once have a port each on this network, eight on the next one share one.
"$SPECTER" predict p2p --bytes 64M --across --flows 4 --gpu h100_sxm --explain | sed '/^assumes/,$d'
for flows in 1 2 8; do
    "$SPECTER" predict p2p --bytes 1G --across --flows $flows --gpu a100_pcie --network cloud_pcie_100g |
        grep algbw
done
