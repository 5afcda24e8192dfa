# SPDX-License-Identifier: MIT
# Tokens a second and utilisation, as told, and of the GEMMs; more than the peak is marked.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full --tokens 8192 --scale 1,8,524288 | sed -n '/^work/,/^where/p'
"$SPECTER" replay --full --flops 1e14 --scale 1 | sed -n '/^work/,/^where/p; /more than can be/p'
"$SPECTER" replay --full --tokens -1
echo "status $?"
"$SPECTER" replay --full --flops many
echo "status $?"
exit 0
