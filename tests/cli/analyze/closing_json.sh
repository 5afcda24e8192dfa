# SPDX-License-Identifier: MIT
# The answer of the closing records as JSON.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT/tests/cli/analyze/closing.bash"
job traces slurm-7.0
"$SPECTER" analyze --summary --json - | python3 -c '
import json, sys
j = json.load(sys.stdin)
print(j["schema"], j["run"]["ranks"], j["run"]["hosts"], j["notes"])
print(j["shares"]["collectives"], j["waited_for"])
print([len(j[k]) for k in ("summary_ranks", "summary_ops", "summary_comms")], j["summary_ops"][0]["p50_to_us"])'
