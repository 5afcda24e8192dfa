# SPDX-License-Identifier: MIT
# A batch divided over more ranks (--strong) against captures with as many tokens less a rank.
[[ -x $BUILD/examples/train ]] || { echo "no example built"; exit 77; }

# capture_train DIR RANKS [OPTION...]
capture_train() {
    LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o $1 -- "$ROOT/examples/launch.sh" -n $2 \
        "$BUILD/examples/train" --iters 4 "${@:3}" >capture.out 2>&1 || { cat capture.out; exit 1; }
}

# iteration_of DIR [OPTION...]: of the only scale
iteration_of() {
    "$SPECTER" replay --full "$@" --json - | sed -n '/"scales"/,$p' | grep -m 1 '"iteration_us"' |
        tr -dc '0-9.\n'
}

capture_train whole 2 --tokens 4096
capture_train half 4 --tokens 2048
capture_train tensor 4 --tp 2 --tokens 4096
capture_train half_tensor 8 --tp 2 --tokens 2048
for pair in whole:half tensor:half_tensor; do
    echo "$(iteration_of ${pair%:*} --strong --scale 2) $(iteration_of ${pair#*:} --scale 1)" |
        awk -v pair=$pair '{ off = 100 * ($1 / $2 - 1)
            print pair, (off * off <= 25 ? "within 5 %" : "off by " off " %") }'
done
"$SPECTER" replay --full whole --strong --scale 2 | grep -o 'have [0-9]* tokens at scale 1'
# The batch stays: tokens of an iteration are those that were told, and the GPUs are used as efficiently
# as the scale says.
"$SPECTER" replay --full whole --strong --scale 1,2 --tokens 8192 --json - |
    awk -F'[:,]' '/"scales":/ { on = 1 } /"ranks":/ { on = 0 }
        on && /"iteration_us"/ { us = $2 } on && /"efficiency"/ { efficiency = $2 }
        on && /"tokens_per_s":/ { printf "%.0f tokens", us * $2 / 1e6 }
        on && /"utilisation"/ { base = base ? base : $2; off = $2 / base / efficiency - 1
            print (off * off < 1e-6 ? ", used as efficiently" : ", efficiency off by " off) }'
"$SPECTER" replay --full whole --strong --scale 3
"$SPECTER" replay --full tensor --strong --grow tp --scale 2
"$SPECTER" replay --full whole --scale 2 --gpus 4
"$SPECTER" replay --full whole --gpus 5
"$SPECTER" replay --full whole --placement spread=9 --scale 1
"$SPECTER" replay --full whole --placement rack --scale 1
# The pair of ranks apart, and where the hosts of the recording say so
"$SPECTER" replay --full whole --placement spread=1 --scale 1 | grep -c 'blocks of 1 a node'
printf 'a\nb\n' >hosts
a=$(iteration_of whole --placement spread=1 --scale 1) b=$(iteration_of whole --placement file=hosts --scale 1)
c=$(iteration_of whole --scale 1)
[[ $a == "$b" && $a != "$c" ]] && echo "two nodes take longer, however they are named"
# As much work in a shorter time on twice the GPUs: they are used less. Tokens are those of the job.
"$SPECTER" replay --full whole --strong --scale 1,2 --tokens 8192 --json - | sed -n '/"scales"/,$p' |
    awk -F '[:,]' '
        /"speedup"/ { speedup[++n] = $2 }
        /"tokens_per_s"/ { tokens[n] = $2 }
        /"utilisation"/ { used[n] = $2 }
        END { print (n == 2 && (used[2] / used[1] - speedup[2] / 2) ^ 2 < 1e-6 ? "utilisation" : "wrong") " halves",
                    ((tokens[2] / tokens[1] - speedup[2]) ^ 2 < 1e-6 ? "and tokens follow the speed-up" : "wrong") }'
