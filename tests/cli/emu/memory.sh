# SPDX-License-Identifier: MIT
# Pools, pointers, registered memory, and memory of another process.
LD_LIBRARY_PATH=$BUILD/emu/lib exec "$BUILD/emu/check_memory"
