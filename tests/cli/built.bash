# SPDX-License-Identifier: MIT
# needs LIBRARY: skips the test when this build does without it (`make WITHOUT_LIBS=1`).
needs() { "$SPECTER" --version | grep -q "^$1 [0-9]" || { echo "built without $1"; exit 77; }; }
