# SPDX-License-Identifier: MIT
. "$ROOT"/tests/cli/validate/common.bash
try() {
    "$SPECTER" validate "$@" >/dev/null
    echo "status $?" >&2
}
collectives >t.csv
printf 'model,ranks,iter_time_s\nx,8,1\n' >training.csv
printf 'gpu,fp16\nx,1\n' >hardware.csv
collectives | sed -n '1p; /doubtful/p' >doubtful.csv
mkdir empty hardware
cp hardware.csv hardware/
try
try absent.csv
try training.csv
try hardware.csv
try empty
try hardware
try doubtful.csv
try t.csv --gpu h999
try t.csv --worst -1
try t.csv --rows /
