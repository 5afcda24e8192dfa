# SPDX-License-Identifier: MIT
# A rank that hangs is named on one line, and what was measured is kept and marked, whatever is measured.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_CLOCK=real
# shellcheck disable=SC2317  # until_it calls these
# until_it COMMAND...: for at most two minutes.
until_it() {
    for _ in $(seq 1200); do
        ! "$@" 2>/dev/null || return
        sleep 0.1
    done
    cat ./*.err
    exit 1
}
has_rows() { [[ $(cat collective/*.json | grep -c '"us"') -ge 2 ]]; }
has_messages() { [[ $(cat p2p/*/execution_log.csv | wc -l) -ge 3 ]]; }
has_overlap() { cat overlap/*.json; }
has_moments() { grep -q libnccl "/proc/$(cut -d' ' -f1 "/proc/$bench/task/$bench/children")/maps" && sleep 5; }
hang_is_named() { grep '^specter: rank' "$name.err"; }
ran_out() { grep '^specter: calls did not end\|^specter: rank' "$name.err"; }
measures_or_ran_out() { "$measures" || ran_out; }
# hangs NAME FILE MEASURES COMMAND...: stops rank 1 once MEASURES, until its hang is named, and asks FILE. Where the
# machine is too busy for calls to end within the limit, once more with a longer one.
hangs() {
    local name=$1 measures=$3 child limit
    for limit in 2 10 50; do
        rm -rf emu/* p2p drift.json overlap collective
        mkdir p2p
        "$SPECTER" bench "${@:4}" --gpus 3 --timeout $limit >"$name.out" 2>"$name.err" &
        bench=$!
        until_it measures_or_ran_out >/dev/null
        ran_out >/dev/null || break
        wait $bench
    done
    child=$(cut -d' ' -f2 "/proc/$bench/task/$bench/children")
    kill -STOP "$child"
    until_it hang_is_named >/dev/null
    kill -CONT "$child"
    wait $bench
    echo "$name: status $?"
    grep -v '^specter: no \|^specter: note\|^emu:' "$name.err" | sed "s/within $limit s/within its limit/"
    # shellcheck disable=SC2086  # a pattern
    grep -hoE '"?complete"?:[[:space:]]*false' $2 | tr -s '\t' ' '
    left_behind
}
hangs collective 'collective/*.json' has_rows collective --op all_reduce --bytes 8:1M --factor 1.0001 --iters 20 -o collective
hangs p2p 'p2p/*/metadata_rank_0.yml' has_messages p2p --repeat 1000 --drift 0 --network dgx_h100_400g -o p2p
hangs drift drift.json has_moments drift --seconds 600 --json drift.json
hangs overlap 'overlap/*.json' has_overlap overlap --channels 0-31 --repeat 3 --bytes 1M -o overlap
# In a call that does not return: rank 1 never calls ncclCommInitRank as the others do, or its 30th AllReduce hangs.
cat >blocks.c <<'C'
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    char bytes[128];
} id;

static int hangs(const char *in)
{
    return *getenv("RANK") == '1' && strcmp(getenv("HANGS_IN"), in) == 0;
}

int ncclCommInitRank(void **comm, int ranks, id unique, int rank)
{
    int (*real)(void **, int, id, int) = dlsym(RTLD_NEXT, "ncclCommInitRank");
    if (hangs("init"))
        raise(SIGSTOP);
    return real(comm, ranks, unique, rank);
}

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, void *comm, void *stream)
{
    int (*real)(const void *, void *, size_t, int, int, void *, void *) = dlsym(RTLD_NEXT, "ncclAllReduce");
    static int calls;
    while (++calls > 30 && hangs("call"))
        pause();
    return real(send, receive, count, type, op, comm, stream);
}
C
${CC:-cc} -shared -fPIC -o libblocks.so blocks.c -L"$BUILD/emu/lib" -Wl,--no-as-needed -l:libnccl.so.2 -ldl || exit 1
# blocks NAME WHERE FILE COMMAND...
blocks() {
    rm -rf emu/*
    HANGS_IN=$2 "$SPECTER" bench "${@:4}" --lib "$PWD/libblocks.so" --gpus 3 --timeout 2 >"$1.out" 2>"$1.err"
    echo "$1: status $?"
    grep -v '^specter: no \|^specter: note\|^emu:' "$1.err"
    # shellcheck disable=SC2086  # a pattern
    [[ -z $3 ]] || grep -hoE '"?complete"?:[[:space:]]*false' $3 | tr -s '\t' ' '
    left_behind
}
blocks init init '' collective --op all_reduce --elements 1000
blocks init_p2p init '' p2p --sizes 1:1K --drift 0
blocks call call 'call/*.json' collective --op all_reduce --elements 1000,2000 --warmup 2 --iters 10 -o call
blocks call_drift call '' drift --seconds 600
exit 0
