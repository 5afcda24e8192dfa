# SPDX-License-Identifier: MIT
#
# The trace of a pattern must hold a record for each answered call that a preload can see. Reads what
# the program told without a preload, then the trace.

FNR == 1 { file++ }
file == 1 && /^[a-z]/ {
    if ($1 == "look" || $1 == "take")
        looked[$2] = $1 == "look" ? $5 : $4
    is_seen = $NF != "unseen"
    perhaps = $NF == "maybe"
    if ($1 == "threads")
        for (i = 3; is_seen && i < NF; i += 2)
            want += $2 * is_recorded($(i + 1))
    waits = is_seen && ($1 == "call" && is_recorded($3) || $1 == "use" && is_recorded(looked[$2]))
}
file == 1 && /^  [A-Za-z0-9_]+ of / && waits { # a preload may pass it on to another answer
    if (perhaps)
        most++
    else
        want++
    waits = 0
}
file > 1 && /^{"id":/ {
    match($0, /^{"id":[0-9]+/)
    ids[substr($0, 1, RLENGTH)]
}
END {
    for (id in ids)
        got++
    if (got + 0 < want + 0 || got + 0 > want + most)
        print name ": the trace holds " got + 0 " records, want " want + 0 (most > 0 ? " to " want + most : "")
}

function is_recorded(f) {
    sub(/^thin_/, "", f)
    return f ~ /^(nccl(AllReduce|Broadcast|Reduce)|cudaMem(cpy|set)Async|cuMemcpyAsync|cublasSgemm_v2)$/
}
