# SPDX-License-Identifier: MIT
command -v mandoc >/dev/null || { echo "no mandoc"; exit 77; }
"$SPECTER" help --man .
mandoc -Tlint ./*.1
