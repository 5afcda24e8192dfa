# SPDX-License-Identifier: MIT
# Some calls break a stream capture and others do not; graphs do what was captured.
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$ROOT/examples/launch.sh" -n 1 "$BUILD/emu/check_capture" &&
    "$ROOT/examples/launch.sh" -n 3 "$BUILD/emu/check_capture"
