# SPDX-License-Identifier: MIT
# Ranks merged into one file for a viewer are refused in one line.
mkdir t
cat >t/merged.json <<'T'
{"traceEvents":[
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":0,"stream":7,"rank":0}},
{"ph":"X","cat":"kernel","name":"b","pid":1000,"tid":7,"ts":1,"dur":1,"args":{"device":0,"stream":7,"rank":1}}]}
T
"$SPECTER" analyze --full t
