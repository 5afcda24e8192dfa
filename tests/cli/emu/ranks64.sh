# SPDX-License-Identifier: MIT
# 64 ranks on 8 nodes of 8.
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$ROOT/examples/launch.sh" -n 64 "$BUILD/emu/check_coll" || exit
"$ROOT/examples/launch.sh" -n 64 "$BUILD/examples/train" --tp 8 --iters 4 --hidden 256 --tokens 64
