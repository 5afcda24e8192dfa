# Functions of the tests of dlsym(): sourced, not run, behind common.bash.

LOOKUPS=$BUILD/tracer/lookups
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "no compiler"; exit 77; }

# little_nccl NUMBER: a library libnccl.so.2 in a folder of its own, whose two functions return it.
little_nccl() {
    mkdir -p "v$1"
    printf 'int ncclCommFinalize(void *c) { (void)c; return %d; } int ncclGroupStart(void) { return %d; }\n' \
        "$1" "$1" >"v$1/nccl.c"
    "$cc" -shared -fPIC -Wl,-soname,libnccl.so.2 -o "v$1/libnccl.so.2" "v$1/nccl.c"
}

# same NAME ARGUMENT...: a scenario of lookups, with and without the tracer, says the same.
same() {
    "$LOOKUPS" "$@" >plain 2>&1
    echo "status $?" >>plain
    traced "$1.d" "$LOOKUPS" "$@" >traced 2>&1
    echo "status $?" >>traced
    diff plain traced
}
