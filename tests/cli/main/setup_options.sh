# SPDX-License-Identifier: MIT
# A misspelt option of scripts/setup.sh installs and builds nothing.
"$ROOT/scripts/setup.sh" --bulid 2>&1
echo "status $?"
