# SPDX-License-Identifier: MIT
"$SPECTER" predict p2p --bytes 1G --across --gpu v100_sxm
"$SPECTER" predict p2p --bytes 0 --gpu rtx_4090 --network consumer_pcie --json
