# SPDX-License-Identifier: MIT
# Enqueue times alone: counts stand, times are not known.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
sed -i 's/"timing":"device"/"timing":"host"/' traces/*.jsonl
"$SPECTER" analyze --full
