# SPDX-License-Identifier: MIT
# An execution trace without the profile: what is missing is said.
mkdir t
echo '{"schema":"1.0.1","pid":9,"time":"x","start_ts":1,"nodes":[],"finish_ts":2}' >t/et_0.json
"$SPECTER" analyze --full t
