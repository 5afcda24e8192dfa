# SPDX-License-Identifier: MIT
# One clear line and the status, and nothing is run.
try() { "$SPECTER" experiment "$@"; echo "status $?"; }
good='{"settings": [{"label": "a"}, {"label": "b"}]}'
echo "$good" >good.json
try 2>&1
try good.json 2>&1
try good.json -- no-such-command 2>&1
try good.json --base c -- touch ran 2>&1
try good.json --repeat 0 -- touch ran 2>&1
try good.json -p 1,2 -- touch ran 2>&1
try good.json --profiler nsys -- touch ran 2>&1
try good.json -o '' -- touch ran 2>&1
try --preset turbo -- touch ran 2>&1
try --preset nccl_tuning -p 1,2 -- touch ran 2>&1
try --preset rccl_warp_speed -p '56,256 56;2' -- touch ran 2>&1
try --preset rccl_warp_speed -p '56,256 56,256' -- touch ran 2>&1
try --preset rccl_warp_speed -p '' -- touch ran 2>&1
try missing.json -- touch ran 2>&1
n=0
while IFS= read -r text; do
    printf '%s' "$text" >"bad$((++n)).json"
    try "bad$n.json" -- touch ran 2>&1
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
{"settings": [{"label": "manifest.json"}]}
{"settings": [{"label": "a", "environment": {"A": "1"}}]}
{"settings": [{"label": "a"}], "repeats": 3}
{"settings": [{"label": "a", "env": {"A": "1", "A": "2"}}]}
{"settings": [{"label": "a"}, {"label": "b"}]} {}
J
# A folder that holds something else or cannot be made, and a full disk.
mkdir other && echo '{"schema":"specter.experiment/1","runs":[]}' >other/manifest.json
try good.json -o other -- touch ran 2>&1
echo '{' >other/manifest.json
try good.json -o other -- touch ran 2>&1
mkdir -p used/a/run1 && touch used/a/run1/mine
try good.json -o used -- touch ran 2>&1
try good.json -o good.json/x -- touch ran 2>&1
"$SPECTER" experiment good.json --print >/dev/full
echo "status $?"
echo '{"settings": [{"label": "a"}]}' >one.json
try one.json -- touch ran 2>&1
ls ran 2>&1
# No traces are nothing to compare, and said so; the command's output is in the log.
try good.json --repeat 1 -o empty -- echo hello 2>&1
cat empty/a/run1.log | head -n 1
