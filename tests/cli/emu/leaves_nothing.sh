# SPDX-License-Identifier: MIT
# After a run the meeting place is empty; without EMU_DIR that is /dev/shm, where files that a killed
# process left are swept by the next.
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_DIR=$PWD/meet
mkdir meet
"$ROOT/examples/launch.sh" -n 4 "$BUILD/emu/check_group" || exit
ls meet
[ -w /dev/shm ] || exit 0
unset EMU_DIR
sh -c 'exit 0' & # a process id that is free again
old=$!
wait $old
touch -d '2 minutes ago' /dev/shm/emu-$old-0123456789abcdef
"$BUILD/emu/dlopen_local" "$BUILD/emu/libemuext.so"
ls /dev/shm | grep "^emu-$old-"
exit 0
