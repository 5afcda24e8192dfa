# SPDX-License-Identifier: MIT
# What packages and documents call this version is the Makefile's.
version=$(sed -n 's/^VERSION *:= *//p' "$ROOT/Makefile")
cd "$ROOT" && grep -rnoE '(specter[-/_]|release_version )[0-9]+\.[0-9]+\.[0-9]+' packaging docs README.md scripts |
    grep -v "[-/_ ]${version//./\\.}\$"
exit 0
