# SPDX-License-Identifier: MIT
# The parallel grid of captures, from what the communicators hold and do: data-parallel, tensor x data,
# 1F1B pipelines, sharded data-parallel, expert all-to-all. Each replays its own iteration time within 1 %.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }

# capture_train DIR RANKS [OPTION...]
capture_train() {
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o $1 -- "$ROOT/examples/launch.sh" -n $2 \
        "$BUILD/examples/train" --iters 4 "${@:3}" >capture.out 2>&1 || { cat capture.out; exit 1; }
}

while read -r name ranks options; do
    capture_train $name $ranks $options
    "$SPECTER" replay --full $name --scale 1 >out.txt 2>err.txt || cat out.txt err.txt
    echo "$name: $options"
    sed -n '/^parallelism/,/^iteration/{/^iteration/!p}' out.txt
    awk '$1 == "iteration" { gsub(/[(%)+-]/, ""); print "    " ($NF <= 1 ? "within 1 %" : $0) }' out.txt
    grep 'communicators of' out.txt
done <<END
data 8
tensor 8 --tp 2
all_tensor 4 --tp 4
pipeline 8 --pp 4 --layers 8
three 8 --pp 2 --tp 2
shards 8 --fsdp
tensor_shards 8 --fsdp --tp 2
experts 8 --ep 4
tensor_experts 8 --tp 2 --ep 2
END

echo "grow"
for axis in dp tp; do
    "$SPECTER" replay --full tensor --scale 1,2 --grow $axis | awk '/^ *[0-9]+ /' >grown.$axis
done
"$SPECTER" replay --full shards --scale 2 >grown.dp2 && "$SPECTER" replay --full shards --scale 2 --grow fsdp >grown.fsdp
cmp grown.dp2 grown.fsdp # where there are shards only, dp is these
grep -o 'optimizer on shards: .*name' grown.dp2
cmp -s grown.dp grown.tp && echo "tp and dp grow alike"
for axis in ep cp; do
    "$SPECTER" replay --full three --scale 2 --grow $axis
done
"$SPECTER" replay --full experts --scale 2 --grow ep | grep -o "all-to-alls made of messages: each rank sends as much as recorded"

echo "told"
"$SPECTER" replay --full tensor --scale 1 --parallel tp=2,dp=4 | sed -n '/^parallelism/,/^iteration/{/^iteration/!p}'
"$SPECTER" replay --full tensor --scale 1 --parallel dp=2:1,tp=4:2 | grep -A 1 'but its groups'
"$SPECTER" replay --full tensor --scale 1 --parallel tp=8 2>&1 |
    sed "s/'[0-9a-f]\{8,\}' of [24] ranks ([0-9, .]*)/ID/" # ids differ, and which is the first
"$SPECTER" replay --full tensor --scale 1 --parallel tp=2,dp=2
echo "status $?"
"$SPECTER" replay --full tensor --scale 1 --grow xp
echo "status $?"
"$SPECTER" replay --full three --scale 1 --json - | grep -A 4 '"place"' | head -n 5
