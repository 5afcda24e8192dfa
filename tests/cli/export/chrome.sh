# SPDX-License-Identifier: MIT
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format chrome
echo "status $?"
python3 -B "$ROOT/tests/cli/export/chrome.py" specter.trace.json.gz
