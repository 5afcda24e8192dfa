# SPDX-License-Identifier: MIT
"$SPECTER" predict collective --help
"$SPECTER" predict p2p -h
"$SPECTER" predict gemm --help
