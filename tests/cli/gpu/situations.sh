# A situation that ends otherwise than untraced, says something else, or leaves no trace is caught, and so is one that does
# not work untraced.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ ! -e $BUILD/libspecter-san.so ]] || { echo "python is not sanitized"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=$BUILD/emu/lib EMU_DIR=$PWD RANK=0 WORLD_SIZE=1
HERE=$ROOT/tests/gpu OUT=$PWD PYTHON=$(python3 -c 'import sys; print(sys.executable)')
. "$HERE/lib.bash"
. "$HERE/checks/situations.bash"

# under LINES NAME: a specter that does this with the command in "$@"
under() {
    printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\n%s\n' "$1" >stub
    chmod +x stub
    SPECTER=./stub situation "$2" 2>/dev/null | grep -E 'status|says|FAILS|untraced:'
    echo "ended ${PIPESTATUS[0]}"
}
under '"$@"; exit 5' exit
under 'echo more; exec "$@"' exit
under 'exec "$@"' exit
under "exec $SPECTER capture -o traces/os_exit --no-cublas -- \"\$@\"" os_exit
under 'exec "$@"' no_such_situation
