# SPDX-License-Identifier: MIT
# protoc reads a node with the schema's messages.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
command -v protoc >/dev/null || { echo "no protoc"; exit 77; }
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format chakra || exit 1
cat >node.proto <<'P'
syntax = "proto3";
message Attr { string name = 1; int32 int32_val = 7; int64 int64_val = 9; bool bool_val = 27; string string_val = 29; }
message Node { uint64 id = 1; string name = 2; int32 type = 3; repeated uint64 data_deps = 5;
               uint64 start_time_micros = 6; uint64 duration_micros = 7; repeated Attr attr = 10; }
P
# The message behind the first length byte of the second message.
PYTHONPATH=$ROOT/tests/cli/export python3 -B -c 'import sys, wire; sys.stdout.buffer.write(list(wire.delimited(open("specter_chakra/specter.1.et", "rb").read()))[6])' |
    protoc --decode=Node node.proto | grep -E '^(name|type|data_deps)'
