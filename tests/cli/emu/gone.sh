# SPDX-License-Identifier: MIT
# A rank that dies is reported to those who wait for it, whatever they wait in, and leaves nothing.
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_DIR=$PWD/meet
mkdir meet
for what in collective message split abort; do
    echo "$what"
    # rank 1 is meant to die: its status is not the job's
    "$ROOT/examples/launch.sh" -n 3 sh -c '"$@"; s=$?; [ $RANK = 1 ] || exit $s' sh \
        "$BUILD/emu/check_gone" $what 2>err || cat err
    grep '^emu:' err | sort
    rm -f meet/*
done
ls meet
