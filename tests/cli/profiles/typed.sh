# SPDX-License-Identifier: MIT
# Names as people type them: any case, other separators, a beginning that one name has, what most mean by "h100"; what
# could be several is refused.
for name in h100 H100_SXM a100-80g A100-40GB "RTX 4090" A6000 a10 mi300 h100_n dgx_h100 DGX-A100 alp; do
    "$SPECTER" profiles "$name" | sed -n '1p'
done
for name in h1 a1 gb dgx ""; do
    "$SPECTER" profiles gpu "$name" || echo "status $?"
done 2>&1
"$SPECTER" predict collective --op all_reduce --bytes 1MB --ranks 8 --gpu H100 --network dgx-h100 --json |
    grep -E '"(bytes|gpu|network)"'
