# SPDX-License-Identifier: MIT
# A program's own device code: images made by the check itself.
export LD_LIBRARY_PATH=$BUILD/emu/lib
"$BUILD/emu/check_module"
