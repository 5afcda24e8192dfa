# Functions of the tracer's tests: sourced, not run.

FLIGHT=$BUILD/tracer/flight
CALLS=$BUILD/tracer/calls STRESS=$BUILD/tracer/stress INSTANT=$BUILD/tracer/instant
# A sanitized build tests its sanitized library, which needs the sanitizer's own in front.
PRELOAD=$LIBSPECTER
if [[ -e $BUILD/libspecter-san.so ]]; then
    runtime=$(ldd "$BUILD/libspecter-san.so" | awk '/lib[at]san/ { print $3 }')
    if [[ -z $runtime ]]; then # clang links it into programs only
        kind=asan
        grep -q __tsan_init "$BUILD/libspecter-san.so" && kind=tsan
        runtime=$("${CC:-cc}" -print-file-name="libclang_rt.$kind-$(uname -m).so")
    fi
    PRELOAD="$runtime $BUILD/libspecter-san.so"
    export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
    # Closing somebody else's file is what the first is there for; the lock of the loader, under which its list is read
    # and libraries are taken from it, is not seen by ThreadSanitizer.
    printf 'race:%s\n' closes_everything _dl_close_worker >"$TMPDIR/tsan.supp"
    export TSAN_OPTIONS=die_after_fork=0:suppressions=$TMPDIR/tsan.supp${TSAN_OPTIONS:+:$TSAN_OPTIONS}
fi
export LD_LIBRARY_PATH=$BUILD/emu/lib EMU_DIR=$PWD RANK=0 WORLD_SIZE=1 LOCAL_RANK=0

# traced DIR COMMAND...: runs it under the library alone.
traced() {
    local dir=$1
    shift
    SPECTER_OUTPUT=$dir LD_PRELOAD=$PRELOAD "$@"
}

# small_disk SIZE: the test runs anew with a file system of so many bytes at `small`, in a mount namespace of its own.
# Both are gone when it ends, however that is.
small_disk() {
    if [[ -z ${HAS_SMALL_DISK-} ]]; then
        mkdir small
        unshare --mount true 2>/dev/null || { echo "no right to make a mount namespace"; exit 77; }
        HAS_SMALL_DISK=1 exec unshare --mount bash "$0"
    fi
    mount -t tmpfs -o size="$1" tmpfs small 2>/dev/null ||
        { echo "no right to mount a small file system"; exit 77; }
}

# Every line of these files is as include/specter/trace.h says.
check() {
    env -u LD_LIBRARY_PATH "$BUILD/tracer/check_trace" "$@"
}

# The operations of a file, by id, with the keys given: op AllReduce count 4 ... Of those that a slow
# machine had written as not finished before, the last line.
ops() {
    local file=$1
    shift
    grep '^{"id"' "$file" | sort -s -t: -k2n | awk -v keys="$*" '
        BEGIN { n = split(keys, key, " ") }
        {
            id = substr($0, 1, index($0, ",") - 1)
            if (NR > 1 && id != last)
                print text
            last = id
            text = ""
            for (i = 1; i <= n; i++) {
                at = index($0, "\"" key[i] "\":")
                if (at == 0)
                    continue
                value = substr($0, at + length(key[i]) + 3)
                sub(/[,}].*/, "", value)
                gsub(/"/, "", value)
                text = text key[i] " " value " "
            }
        }
        END { if (NR > 0) print text }'
}

fail() {
    echo "$*"
    exit 1
}

# closing FILE KEY: a number of the closing record.
closing() {
    tail -n 1 "$1" | sed -n "s/.*\"event\":\"shutdown\".*\"$2\":\([0-9]*\).*/\1/p"
}

# balance FILE: fails unless the closing record counts the operations in the file, each id once. Prints
# how many records have their last line there (of an operation: one with a time) or are counted as
# dropped, and how many operations are there as not finished.
balance() {
    awk '
        { json = $0 }
        /^{"id":/ { id = $0; sub(/^{"id":/, "", id); sub(/,.*/, "", id); last[id] = /"timing":"none"/ }
        /^{"type":/ { acts++ }
        /"event":"shutdown"/ {
            total = json; sub(/.*"total_ops":/, "", total); sub(/,.*/, "", total)
            dropped = json; sub(/.*"dropped":/, "", dropped); sub(/,.*/, "", dropped)
        }
        END {
            for (id in last) { ops++; ended += !last[id] }
            if (ops != total)
                print "not the " ops " operations of the file, but " total
            print ended + acts + dropped, ops - ended
        }' "$1"
}
