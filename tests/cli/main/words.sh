# SPDX-License-Identifier: MIT
# Text for users has the words of docs/glossary.md: none of those that it replaced, in any help, first screen or table.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
cp -r traces other
{
    "$SPECTER" help
    for command in $("$SPECTER" help | sed -n '/^a run/q; s/^  \([a-z]\+\) .*/\1/p'); do "$SPECTER" help "$command"; done
    for args in "analyze" "analyze --full" "analyze --list-tables" "replay --gpu a100_sxm" "replay --gpu a100_sxm --full" \
        metrics doctor "compare traces other" "compare traces other --table collectives" "watch traces --once" \
        "replay --straggler rank=1 --full" "predict collective --op all_reduce --ranks 64 --bytes 1M --explain"; do
        # shellcheck disable=SC2086  # words
        "$SPECTER" $args 2>&1
    done
    for trace in "$SHARED"/data/traces/{param/dlrm_kineto.tar.gz,flight_recorder/lock_gil_1st}; do
        [[ ! -e $trace ]] || "$SPECTER" analyze "$trace" --full 2>&1
    done
} >all
[[ $(wc -l <all) -gt 800 ]] || echo "hardly any text: $(wc -l <all) lines"
grep -n -i -E 'nobody|whoever|matrix product|in the middle|late rank|holds? (others|the job) up|untraced work|waiting of stages|share of the model|what is wrong|is told|stands still|iteration time' all
exit 0
