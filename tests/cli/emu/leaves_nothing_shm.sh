# SPDX-License-Identifier: MIT
# Without EMU_DIR the meeting place is /dev/shm, where files that a killed process left are swept by the
# next.
[[ -w /dev/shm ]] || { echo "no /dev/shm"; exit 77; }
export LD_LIBRARY_PATH=$BUILD/emu/lib
sh -c 'exit 0' & # a process id that is free again
old=$!
wait $old
touch -d '2 minutes ago' /dev/shm/emu-$old-0123456789abcdef
"$BUILD/emu/dlopen_local" "$BUILD/emu/libemuext.so"
ls /dev/shm | grep "^emu-$old-"
exit 0
