# SPDX-License-Identifier: MIT
# Two ranks on one device: refused within a node, taken where NCCL_HOSTID makes two of them.
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_DIR=$PWD/meet
mkdir meet
echo "one node:"
NCCL_HOSTID=here "$ROOT/examples/launch.sh" -n 2 "$BUILD/emu/check_hosts" one
"$ROOT/examples/launch.sh" -n 2 "$BUILD/emu/check_hosts" one
echo "two nodes:"
# shellcheck disable=SC2016 # for the rank's shell
"$ROOT/examples/launch.sh" -n 2 sh -c 'NCCL_HOSTID=rank$RANK exec "$@"' sh "$BUILD/emu/check_hosts" two
ls meet
