# SPDX-License-Identifier: MIT
# Host functions in stream order, a wait that is cancelled, what is told of captures and devices, driver functions by name.
LD_LIBRARY_PATH=$BUILD/emu/lib exec "$BUILD/emu/check_host"
