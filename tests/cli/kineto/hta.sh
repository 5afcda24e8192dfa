# SPDX-License-Identifier: MIT
# Numbers that other analysers print of the 8-rank DLRM profile, on all ranks, to a microsecond.
[[ -n $SHARED && -e $SHARED/data/expected/hta_dlrm8.json ]] || { echo "no ../shared data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
"$SPECTER" analyze --full "$SHARED/data/traces/param/dlrm_kineto.tar.gz" --json said.json >/dev/null 2>&1
python3 "$ROOT/tests/cli/kineto/hta.py" "$SHARED/data/expected/hta_dlrm8.json" said.json
