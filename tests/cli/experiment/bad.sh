# SPDX-License-Identifier: MIT
# One clear line and the status, and nothing is run.
try() { "$SPECTER" experiment "$@"; echo "status $?"; }
good='{"settings": [{"label": "a"}, {"label": "b"}]}'
echo "$good" >good.json
try 2>&1
try good.json 2>&1
try good.json -- no-such-command 2>&1
try good.json --base c -- true 2>&1
try good.json --repeat 0 -- true 2>&1
try good.json -p 1,2 -- true 2>&1
try good.json --profiler nsys -- true 2>&1
try good.json -o '' -- true 2>&1
try --preset turbo -- true 2>&1
try --preset nccl_tuning -p 1,2 -- true 2>&1
try --preset rccl_warp_speed -p '56,256 56;2' -- true 2>&1
try --preset rccl_warp_speed -p '56,256 56,256' -- true 2>&1
try --preset rccl_warp_speed -p '' -- true 2>&1
try missing.json -- true 2>&1
n=0
while IFS= read -r text; do
    printf '%s' "$text" >"bad$((++n)).json"
    try "bad$n.json" -- true 2>&1
done <<'J'

[]
{"settings": 3}
{"settings": []}
{"settings": [{"label": ""}]}
{"settings": [{"label": "../up"}]}
{"settings": [{"label": "a,b"}]}
{"settings": [{"label": "a"}, {"label": "a"}]}
{"settings": [{"label": "a", "env": ["A=1"]}]}
{"settings": [{"label": "a", "env": {"A=B": "1"}}]}
{"settings": [{"label": "a", "env": {"A": null}}]}
{"settings": [{"label": "a", "args": "x"}]}
{"settings": [{"label": "a", "capture": [1]}]}
{"name": "a/b", "settings": [{"label": "a"}]}
J
# A folder that holds something else, cannot be made, or is full.
mkdir other && echo '{"schema":"specter.experiment/1","runs":[]}' >other/manifest.json
try good.json -o other -- true 2>&1
echo '{' >other/manifest.json
try good.json -o other -- true 2>&1
try good.json -o good.json/x -- true 2>&1
try good.json -o /dev/full/x -- true 2>&1
# No traces are nothing to compare, and said so; the command's output is in the log.
try good.json --repeat 1 -o empty -- echo hello 2>&1
cat empty/a/run1.log | head -n 1
