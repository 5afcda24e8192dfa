# SPDX-License-Identifier: MIT
# Dumps name no host: a clock each, and not as many hosts.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir dumps
python3 "$ROOT/tests/cli/flight/job.py" dumps '{"stop":{"9":30}}' >/dev/null
"$SPECTER" analyze --full dumps --html out.html 2>/dev/null | sed -n 2,3p
grep -o '<dt>clocks</dt><dd>[^<]*' out.html
