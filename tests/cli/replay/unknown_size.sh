# SPDX-License-Identifier: MIT
# Communication of unknown size. Alone it tells no scaling; beside some of known size all of it is unknown in the
# error, whether it is overlapped or not.
show() { "$SPECTER" replay --full $1 --scale 1,32 | sed -n '/^  GPUs  *iteration/,/^$/p; /communication of unknown size/,/^$/p; /^notes/,$p'; }

# forget DIR EACH: the size of every EACH-th AllReduce of a rank.
forget() {
    mkdir $1
    for file in "$ROOT"/tests/cli/replay/data/two_ranks/*.jsonl; do
        awk -v each=$2 '/"AllReduce"/ && n++ % each == 0 { sub(/"bytes":[0-9]*,/, ""); sub(/"count":[0-9]*,/, "") } { print }' \
            "$file" >$1/"${file##*/}"
    done
}

forget all 1
show all
forget half 2
show half
