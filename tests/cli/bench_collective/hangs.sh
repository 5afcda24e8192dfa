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
# hangs NAME FILE MEASURES COMMAND...: stops rank 1 once MEASURES, until its hang is named, and asks FILE.
hangs() {
    local name=$1 child
    rm -rf emu/*
    "$SPECTER" bench "${@:4}" --gpus 3 --timeout 2 >"$name.out" 2>"$name.err" &
    bench=$!
    until_it "$3" >/dev/null
    child=$(cut -d' ' -f2 "/proc/$bench/task/$bench/children")
    kill -STOP "$child"
    until_it hang_is_named >/dev/null
    kill -CONT "$child"
    wait $bench
    echo "$name: status $?"
    grep -v '^specter: no \|^specter: note\|^emu:' "$name.err"
    # shellcheck disable=SC2086  # a pattern
    grep -hoE '"?complete"?:[[:space:]]*false' $2 | tr -s '\t' ' '
    left_behind
}
mkdir p2p
hangs collective 'collective/*.json' has_rows collective --op all_reduce --bytes 8:1M --factor 1.0001 --iters 20 -o collective
hangs p2p 'p2p/*/metadata_rank_0.yml' has_messages p2p --repeat 1000 --drift 0 --network dgx_h100_400g -o p2p
hangs drift drift.json has_moments drift --seconds 600 --json drift.json
hangs overlap 'overlap/*.json' has_overlap overlap --channels 0-31 --repeat 3 --bytes 1M -o overlap
exit 0
