# SPDX-License-Identifier: MIT
# Read back by a decoder that knows the wire format and the schema's numbers, and by protoc.
command -v python3 >/dev/null || { echo "python3 is not here"; exit 77; }
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format perfetto -o out.pftrace
echo "status $?"
PYTHONPATH=$ROOT/tests/cli/export python3 -B "$ROOT/tests/cli/export/perfetto.py" out.pftrace
"$SPECTER" export traces --format perfetto -o out.pftrace.gz
gzip -dc out.pftrace.gz | cmp - out.pftrace && echo "the same, compressed"
"$SPECTER" export traces --format perfetto -o - | cmp - out.pftrace && echo "the same, to stdout"
if command -v protoc >/dev/null; then
    protoc --decode_raw <out.pftrace >raw || exit 1
    [[ $(grep -c '^1 {' raw) == $(grep -c '^  10: 1$' raw) ]] || exit 1
fi
