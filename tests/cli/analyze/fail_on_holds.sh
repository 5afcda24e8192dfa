# SPDX-License-Identifier: MIT
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze --full --fail-on "idle>0.9, exposed_comm>10%" >text
