# SPDX-License-Identifier: MIT
#
# A check of the loading tests themselves: what a pattern tells without a preload must be what the
# loader says of itself. Reads the lines of LD_DEBUG=bindings, then what the program told.
#
# A call that the loader never bound was bound by the linker: it must stay in its object.

FNR == 1 { file++ }
file == 1 && /binding file .* to .*: normal symbol/ {
    sub(/.*binding file /, "")
    from = $1
    to = $4
    match($0, /`[^']*'/)
    name = substr($0, RSTART + 1, RLENGTH - 2)
    bound[from, name] = bound[from, name] " " to
    next
}
file == 1 { next }
/^[a-z]/ {
    kind = $1
    function_ = kind == "look" ? $5 : kind == "take" ? $4 : $3
    pointer = $2
    from = ""
    if (kind == "use") {
        function_ = looked_function[pointer]
        from = looked_from[pointer]
    }
    next
}
/^  by / {
    from = $2
    if (kind == "look" || kind == "take") {
        looked_function[pointer] = function_
        looked_from[pointer] = from
    }
    next
}
/^  [A-Za-z0-9_]+ of / && from != "" {
    name = function_
    if (sub(/^thin_/, "", name))
        from = "thin.so"
    answered = $3
    sub(/,$/, "", answered)
    if ($1 != name)
        next
    targets = bound[from, name] == "" ? " " from : bound[from, name]
    if (index(targets " ", " " answered " ") == 0)
        print FILENAME ": " name " of " from " went to " answered ", the loader says" targets
    from = "" # what answers first was bound; a preload may pass it on
}
