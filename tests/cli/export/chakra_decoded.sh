# SPDX-License-Identifier: MIT
# Read back by a decoder of its own, with dependencies.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format chakra || exit 1
export PYTHONPATH=$ROOT/tests/cli/export
for r in 0 1; do
    echo "rank $r"
    python3 -B "$ROOT/tests/cli/export/chakra.py" specter_chakra/specter.$r.et
done
