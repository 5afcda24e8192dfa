# SPDX-License-Identifier: MIT
# Packages and documents have the version of the Makefile.
version=$(sed -n 's/^VERSION *:= *//p' "$ROOT/Makefile")
cd "$ROOT" && grep -rnoE '(specter[-/_]|release_version )[0-9]+\.[0-9]+\.[0-9]+' packaging docs README.md scripts |
    grep -v "[-/_ ]${version//./\\.}\$"
exit 0
