# Four threads at once, each with a communicator of its own and groups within groups: every operation
# once, in its own group and place, and outside what is called outside.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$STRESS" nested_groups || fail "status $?"
check out/*
file=out/specter_trace_rank0.jsonl
ops $file id | sort -u | wc -l
# Prints the contents of each group, in the order of ids within it, and how often.
ops $file group tid op count | awk '$2 != "null" { what[$2] = what[$2] " " $6 " " $8; tid[$2 " " $4]; n[$2] }
    END { for (g in what) seen[what[g]]++; for (w in seen) print seen[w] w
          for (t in tid) m++; for (g in n) groups++; print groups " groups, " m " with their threads" }' | sort
ops $file group op count | awk '$2 == "null" { n[$4 " " $6]++ } END { for (w in n) print n[w], w, "alone" }'
# Numbers of each communicator run without a gap.
ops $file comm seq | awk '$4 ~ /^[0-9]/ { n[$2]++; if ($4 > most[$2]) most[$2] = $4 }
    END { for (c in n) if (n[c] != most[c] + 1) print c ": " n[c] " numbers up to " most[c] }'
ops $file comm op | sort | uniq -c | awk '{ print $1, $5 }' | sort | uniq -c
closing $file dropped
