# SPDX-License-Identifier: MIT
# EMU_CLOCK=process: threads that take turns in ways that the stand-ins cannot see have one clock.
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$BUILD/emu/check_process" && EMU_CLOCK=process "$BUILD/emu/check_process"
