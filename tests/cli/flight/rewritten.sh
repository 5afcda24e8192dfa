# SPDX-License-Identifier: MIT
# Dumps that a script has rewritten: the id of a group as a text, its members as a list, and no more
# of an entry than a hang takes.
mkdir dumps
for r in 0 1; do
    {
        printf '{"rank": %d, "pg_config": {"3": {"ranks": [0, 1]}}, "entries": [' "$r"
        for seq in 18 $([[ $r == 0 ]] && echo 19); do
            [[ $seq == 19 ]] && printf ', '
            printf '{"profiling_name": "nccl:all_reduce", "pg_id": "3", "collective_seq_id": %d, ' "$seq"
            printf '"time_created_ns": 17480300000000000%d, "state": "%s"}' "$seq" \
                "$([[ $seq == 18 ]] && echo completed || echo scheduled)"
        done
        printf ']}\n'
    } >dumps/"$r.json"
done
"$SPECTER" analyze dumps 2>/dev/null | sed -n 1,5p
