# SPDX-License-Identifier: MIT
# The arithmetic of shared ports.
export LD_LIBRARY_PATH=$BUILD/emu/lib
exec "$BUILD/emu/check_calendar"
