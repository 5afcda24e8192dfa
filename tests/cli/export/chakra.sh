# SPDX-License-Identifier: MIT
# Read back by a decoder of its own, with dependencies, and by protoc with the schema's messages.
command -v python3 >/dev/null || { echo "python3 is not here"; exit 77; }
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format chakra
echo "status $?"
cat specter_chakra/comm_groups.json
export PYTHONPATH=$ROOT/tests/cli/export
for r in 0 1; do
    echo "rank $r"
    python3 -B "$ROOT/tests/cli/export/chakra.py" specter_chakra/specter.$r.et
done
command -v protoc >/dev/null || exit 0
cat >node.proto <<'P'
syntax = "proto3";
message Attr { string name = 1; int32 int32_val = 7; int64 int64_val = 9; bool bool_val = 27; string string_val = 29; }
message Node { uint64 id = 1; string name = 2; int32 type = 3; repeated uint64 data_deps = 5;
               uint64 start_time_micros = 6; uint64 duration_micros = 7; repeated Attr attr = 10; }
P
# The message behind the first length byte of the second message.
python3 -B -c 'import sys, wire; sys.stdout.buffer.write(list(wire.delimited(open("specter_chakra/specter.1.et", "rb").read()))[6])' |
    protoc --decode=Node node.proto | grep -E '^(name|type|data_deps)'
