# SPDX-License-Identifier: MIT
# A recording that tells when operations were called for and not what they took, as dumps of a job that hangs: refused.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
sed -i 's/"timing":"device"/"timing":"host"/' traces/*.jsonl
"$SPECTER" replay --full traces --gpu h100_sxm
