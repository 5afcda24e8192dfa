# SPDX-License-Identifier: MIT
"$SPECTER" bench gemm --help
"$SPECTER" bench state --help
