# SPDX-License-Identifier: MIT
# A task that cannot be done is one line, and leaves nothing behind.
. "$ROOT/tests/cli/profile_node/common.bash"
try() {
    "$@" >out 2>err
    echo "$?: $(cat out err | sed "s|$PWD|HERE|g")"
}
try profile_node --fast
try profile_node traces
try profile_node -o
try profile_node -o ''
try profile_node --gpus none
try profile_node --gpus 0 --quick
try profile_node --gpus 9 --quick
touch file
try profile_node -o file/traces
try profile_node -o /proc/none
BUILD=$PWD try profile_node
CUDA_VISIBLE_DEVICES="" try profile_node --quick
profile_node --help
rm out err file
ls
