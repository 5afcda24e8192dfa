# SPDX-License-Identifier: MIT
# Contexts, handles, default streams, reset, fork; and an observer moves no clock and delays nothing.
LD_LIBRARY_PATH=$BUILD/emu/lib exec "$BUILD/emu/check_driver"
