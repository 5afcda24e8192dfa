# Functions of the tests of `bench collective`: sourced, not run.
[[ -d $BUILD/emu/lib ]] || { echo "no stand-in libraries"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_DIR=$PWD/emu
# Of a sanitized build: the search for leaks crashes where threads of the stand-ins end while the process does.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
mkdir -p emu

# Sizes, counts and wrong elements of nccl-tests' table: what does not depend on times.
without_times() {
    awk '/^# Out of/ { exit } /^# [a-z_]+, / { print } !/^#/ && NF >= 13 { print $1, $2, $3, $4, $5, $9, $13 }' "$@"
}

# The processes that a benchmark of this folder has left behind.
left_behind() {
    local process
    for process in /proc/[0-9]*; do
        [[ $(readlink "$process/exe") != "$SPECTER" || $(readlink "$process/cwd") != "$PWD" ]] ||
            echo "left behind: ${process#/proc/}"
    done
}
