# SPDX-License-Identifier: MIT
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze --full --fail-on "exposed_comm>=0.9,compute<0.1" >text
