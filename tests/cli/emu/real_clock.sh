# SPDX-License-Identifier: MIT
# EMU_CLOCK=real: time on the stand-ins is the machine's.
LD_LIBRARY_PATH=$BUILD/emu/lib EMU_CLOCK=real exec "$BUILD/emu/check_real"
