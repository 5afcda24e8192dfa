# SPDX-License-Identifier: MIT
# Read back by a decoder that knows the wire format and the schema's numbers.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format perfetto -o out.pftrace || exit 1
PYTHONPATH=$ROOT/tests/cli/export python3 -B "$ROOT/tests/cli/export/perfetto.py" out.pftrace
