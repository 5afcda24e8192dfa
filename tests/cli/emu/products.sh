# SPDX-License-Identifier: MIT
# GEMMs of every entry point, type and layout; descriptors; NVML.
LD_LIBRARY_PATH=$BUILD/emu/lib exec "$BUILD/emu/check_gemm"
