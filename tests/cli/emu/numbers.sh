# SPDX-License-Identifier: MIT
# fp16, bf16 and the two fp8 formats, bit by bit.
LD_LIBRARY_PATH=$BUILD/emu/lib exec "$BUILD/emu/check_number"
