# SPDX-License-Identifier: MIT
# Opened as Python opens extensions: RTLD_LOCAL, with everything else behind it.
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$BUILD/emu/dlopen_local" "$BUILD/emu/libemuext.so"
"$ROOT/examples/launch.sh" -n 2 "$BUILD/emu/dlopen_local" "$BUILD/emu/libemuext.so" "$PWD/id" | sort
"$BUILD/emu/dlopen_local" ./none.so
echo "status $?"
