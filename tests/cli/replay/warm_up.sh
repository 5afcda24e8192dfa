# SPDX-License-Identifier: MIT
# Of recorded steps the first has no known begin. That the next one warms up is told where it does; of three
# lengths the error names how much they differ, of two that they are few.
# later US FIRST: the operations from FIRST on are so much later.
later() {
    awk -v us=$1 -v first=$2 'match($0, /"id":[0-9]+/) && substr($0, RSTART + 5, RLENGTH - 5) + 0 >= first {
        for (n = split("start_us host_us host_end_us", keys, " "); n > 0; n--) {
            match($0, "\"" keys[n] "\":[0-9.]+")
            at = RSTART + length(keys[n]) + 3
            $0 = substr($0, 1, at - 1) sprintf("%.3f", substr($0, at, RSTART + RLENGTH - at) + us) substr($0, RSTART + RLENGTH)
        }
    } { print }'
}
# recorded NAME US: a recording whose second step takes so much longer, and its last one 10 us.
recorded() {
    mkdir $1
    for file in "$ROOT"/tests/cli/replay/data/two_ranks/*.jsonl; do
        later $2 2 <"$file" | later 10 6 >$1/"${file##*/}"
    done
    "$SPECTER" replay --full $1 --scale 1 |
        sed -n '/^iterations/,/^work/p; /^the interval/,/^$/p; /steps (/,/left out/p; /step length/,$p' | grep -v '^work'
}
recorded cold 400
recorded even 0
