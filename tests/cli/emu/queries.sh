# SPDX-License-Identifier: MIT
# A query about work that hangs on a peer gets its answer, also where the peer waits for the asker.
export LD_LIBRARY_PATH=$BUILD/emu/lib
exec "$ROOT/examples/launch.sh" -n 2 "$BUILD/emu/check_poll"
