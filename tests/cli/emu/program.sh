# SPDX-License-Identifier: MIT
# Kernels and variables that a program registers as nvcc's code does.
LD_LIBRARY_PATH=$BUILD/emu/lib exec "$BUILD/emu/check_program"
