# SPDX-License-Identifier: MIT
# protoc decodes it, and each message is a packet with a sequence.
command -v protoc >/dev/null || { echo "no protoc"; exit 77; }
source "$ROOT/tests/cli/export/trace.bash"
"$SPECTER" export traces --format perfetto -o out.pftrace || exit 1
protoc --decode_raw <out.pftrace >raw || exit 1
packets=$(grep -c '^1 {' raw)
[[ $packets != 0 && $packets == $(grep -c '^  10: 1$' raw) ]] || echo "$packets packets"
