# Functions of the tests of scripts/profile_node.sh: sourced, not run.
[[ -d $BUILD/emu/lib ]] || { echo "no stand-in libraries"; exit 77; }
export BUILD LD_LIBRARY_PATH=$BUILD/emu/lib PYTHON=false CC
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # as in bench_collective/common.bash
profile_node() { "${as_user[@]+"${as_user[@]}"}" "$ROOT/scripts/profile_node.sh" "$@"; }

# Names and states of the steps in a summary, behind its first line.
steps() { awk 'NR == 1 { print } on { print $1, $2 } /^$/ { on = 1 }' "$1"/bench/run_*/summary.txt; }

# Times in names of files, and this machine's names.
mask() { sed -E 's/[0-9]{8}_[0-9]{6}/TIME/g; s/[^ ]*@[^ ]*:[^ ]*\//USER@HOST:/; s/Measured in [0-9]* s/Measured in N s/'; }
