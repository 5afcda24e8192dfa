# SPDX-License-Identifier: MIT
# NICs of one node that failed are counted together: 6 of 8 leave a quarter of its rate, 8 leave none.
replay() {
    "$SPECTER" replay --full "$ROOT"/tests/cli/replay/data/two_ranks --scale 32 --json - "$@" | sed -n 's/.*"iteration_us"://p'
}
replay --failed-nic node=0,count=2 --failed-nic node=0,count=4 >two
replay --slow-link node=0,slow=4 >quarter
replay >sound
cmp two quarter
if cmp -s two sound; then exit 1; fi
replay --failed-nic node=0,count=4 --failed-nic node=1,count=4 >apart
"$SPECTER" replay --full "$ROOT"/tests/cli/replay/data/two_ranks --failed-nic node=0,count=4 --failed-nic node=0,count=4 || echo "status $?"
