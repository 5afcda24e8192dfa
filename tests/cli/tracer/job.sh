# Ranks of a job: communicators are the same on all, collectives pair up, and two runs are equal.
. "$ROOT/tests/cli/tracer/common.bash"
[[ -x $BUILD/examples/train ]] || { echo "no example"; exit 77; }
unset RANK WORLD_SIZE LOCAL_RANK EMU_DIR
for run in 1 2; do
    SPECTER_OUTPUT=run$run LD_PRELOAD=$PRELOAD "$ROOT/examples/launch.sh" -n 4 "$BUILD/examples/train" \
        --tp 2 --iters 2 >/dev/null || exit 1
    check run$run/*
done
ls run1
for file in run1/*; do
    for dir in run1 run2; do
        grep -v '"init"' $dir/${file#*/} | sed 's/"real_ns":[0-9]*//' | sort >$dir.lines
    done
    cmp run1.lines run2.lines || fail "${file#*/} differs from run to run"
done
[[ $(sed -n 's/.*"event":"init".*"run":"\([^"]*\)".*/\1/p' run1/* | sort -u | wc -l) == 1 ]] || fail "ranks name the run differently"
# (comm, seq) is one collective: as many members as the communicator has, the same operation.
for file in run1/*; do ops $file comm comm_size seq op count dtype comm_rank; done | grep "^comm " | sort -u |
    awk '{ what = $2 " " $4 " " $6; n[what]++; all++; size[what] = $4; if (what in op && op[what] != $8 $10 $12) print "mismatch: " $0; op[what] = $8 $10 $12 }
         END { print all " records of collectives"; for (what in n) if (n[what] != size[what]) print what ": " n[what] " of " size[what] }'
