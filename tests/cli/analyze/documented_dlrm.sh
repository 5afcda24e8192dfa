# SPDX-License-Identifier: MIT
# As documented, of a job of Kineto profiles.
dlrm=$SHARED/data/traces/param/dlrm_kineto.tar.gz
[[ -n $SHARED && -e $dlrm ]] || { echo "no ../shared data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
"$SPECTER" analyze --full "$dlrm" --json dlrm.json >page 2>log || [[ $? == 4 ]] || { cat log; exit 1; }
python3 "$ROOT/tests/cli/analyze/documented.py" "$ROOT" dlrm.json
