# SPDX-License-Identifier: MIT
# `specter FILE` analyzes it, with options; a word that is neither a command nor a file is refused as ever.
"$SPECTER" "$ROOT"/tests/cli/replay/data/two_ranks | sed -n 1,2p
"$SPECTER" "$ROOT"/tests/cli/replay/data/two_ranks --table ranks | sed -n 1p
"$SPECTER" version | sed -n 1p | grep -c '^specter [0-9]'
cmp <("$SPECTER" help) <("$SPECTER" help help)
"$SPECTER" not_there.json 2>&1 || echo "status $?"
