# SPDX-License-Identifier: MIT
# Longer pipelines of the same stages (--grow pp) against captures of the longer ones: layers a stage,
# micro-batches and their size stay. Within 5 %.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }

# capture_train DIR RANKS [OPTION...]
capture_train() {
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o $1 -- "$ROOT/examples/launch.sh" -n $2 \
        "$BUILD/examples/train" --iters 4 "${@:3}" >capture.out 2>&1 || { cat capture.out; exit 1; }
}

# iteration_of DIR: of the recorded job, in the replay's JSON
iteration_of() {
    "$SPECTER" replay --full $1 --scale 1 --json - | sed -n '/"scales"/,$p' | grep -m 1 '"iteration_us"'
}

while read -r name factor options; do
    stages=${name#*x} outer=${name%x*}
    capture_train $name.$factor $((outer * stages)) --pp $stages --layers $((2 * stages)) $options
    capture_train longer.$name.$factor $((outer * stages * factor)) --pp $((stages * factor)) \
        --layers $((2 * stages * factor)) $options
    "$SPECTER" replay --full $name.$factor --grow pp --scale $factor --json - >$name.json
    { sed -n '/"scales"/,$p' $name.json | grep -m 1 '"iteration_us"'; iteration_of longer.$name.$factor; } |
        tr -dc '0-9.\n' | paste -s -d ' ' |
        awk -v name=$name -v to=$factor '{ off = 100 * ($1 / $2 - 1)
            print name, "x" to, (off * off <= 25 ? "within 5 %" : "off by " off " %") }'
done <<END
1x2 2 --micro 8
1x2 8 --micro 8
1x4 4 --micro 3
2x2 4 --tp 2 --micro 6
2x3 2 --micro 4
END
"$SPECTER" replay --full 1x4.4 --grow pp --gpus 8,16 | awk '/^ *[0-9]+ / { print $1 } /where the step goes/ { exit }'
"$SPECTER" replay --full 1x4.4 --grow pp --gpus 8 | grep -o 'laid out anew for more stages (.*,'
# Counted kernels stay what they are, on the path and in the timeline, which is of the first size asked for.
"$SPECTER" replay --full 1x4.4 --grow pp --gpus 8,16 --timeline out.json --json - 2>/dev/null >out.txt
grep -c 'other kernels' out.txt
grep -o 'so laid out take [^"]*' out.txt
grep -o '"otherData":{.*"gpus":[0-9]*' out.json
grep -o 'rank 7 predicted' out.json
for pid in 1 2; do
    grep '"cat":"untraced"' out.json | grep -c "\"pid\":$pid,"
done | uniq | wc -l
capture_train one 2 --pp 2 --micro 1
"$SPECTER" replay --full one --grow pp --scale 2
echo "status $?"
