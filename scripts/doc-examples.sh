#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Runs the commands that documents show and puts what they print behind them:
#
#   SPECTER=build/specter scripts/doc-examples.sh FILE...
#
# An example is a line `    $ specter ...`; what follows it, indented as far or empty, is its output.
# Commands run where the script was called: files that examples need are named from the root of the
# repository. When one fails, its document stays as it is.
set -euo pipefail
export LC_ALL=C.UTF-8
unset COLUMNS

SPECTER=$(realpath "${SPECTER:-build/specter}")

# One file with fresh examples, to stdout.
refresh() {
    local line shown inside=0
    while IFS= read -r line; do
        if [[ $line == '    $ specter '* ]]; then
            [[ $inside == 0 ]] || echo
            echo "$line"
            shown=$(bash -o pipefail -c "'$SPECTER' ${line#*specter }" 2>/dev/null) ||
                { echo "fails:$line" >&2; return 1; }
            sed 's/^./    &/' <<<"$shown"
            inside=1
        elif [[ $inside == 1 && -n $line && $line != '    '* ]]; then
            echo
            echo "$line"
            inside=0
        elif [[ $inside == 0 ]]; then
            echo "$line"
        fi
    done
}

for file in "$@"; do
    fresh=$(mktemp)
    refresh <"$file" >"$fresh"
    cmp -s "$file" "$fresh" || cat "$fresh" >"$file"
    rm -f "$fresh"
done
