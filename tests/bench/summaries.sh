#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures `specter analyze --summary` on the closing records of a job of so many ranks (100,000).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$BUILD/bench/summaries" "$BUILD/specter" "$folder/traces" "${1:-100000}"
