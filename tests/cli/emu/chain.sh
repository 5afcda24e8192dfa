# SPDX-License-Identifier: MIT
# Broadcast and Reduce go around the ring in slices, whatever their size.
export LD_LIBRARY_PATH=$BUILD/emu/lib
exec "$BUILD/emu/check_chain"
