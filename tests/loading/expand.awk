# SPDX-License-Identifier: MIT
#
# Expands families of loading patterns (patterns/*.txt) into patterns: prints name|program|front|
# behind|environment of each and writes its steps to the file <into>/<name>.
#
#   pattern NAME               begins a family; its name is <file>.NAME, and the values behind it
#   with VARIABLE VALUE...     a dimension: one pattern for each value
#   run PROGRAM, front OBJECT, behind OBJECT, env NAME=VALUE...
#   anything else              a step
#
# $VARIABLE is replaced by its value. A value may be WORD:REST; $VARIABLE.rest is what is behind the
# colon. In values ~ stands for a space and - for nothing. `?VARIABLE step` is left out where the value is
# nothing.

function flush_family(    i, total, n, k) {
    if (family == "")
        return
    total = 1
    for (i = 1; i <= dimensions; i++)
        total *= count[i]
    for (n = 0; n < total; n++) {
        k = n
        name = family
        for (i = dimensions; i >= 1; i--) {
            choose(i, k % count[i])
            k = int(k / count[i])
        }
        for (i = 1; i <= dimensions; i++)
            name = name "." label[i]
        gsub(/[^A-Za-z0-9_.+-]/, "-", name)
        write_pattern(name)
    }
    family = ""
}

function choose(i, k,    parts, v) {
    v = value[i, k]
    split(v, parts, ":")
    chosen[variable[i]] = parts[1] == "-" ? "" : parts[1]
    rest[variable[i]] = index(v, ":") ? substr(v, index(v, ":") + 1) : ""
    label[i] = parts[1] == "-" ? "none" : parts[1]
    if (rest[variable[i]] != "" && rest[variable[i]] !~ /^(unseen|maybe)$/)
        label[i] = label[i] "+" rest[variable[i]]
}

function expanded(text,    out, word) {
    out = ""
    while (match(text, /\$[A-Z]+(\.rest)?/)) {
        word = substr(text, RSTART + 1, RLENGTH - 1)
        out = out substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        if (sub(/\.rest$/, "", word))
            out = out rest[word]
        else
            out = out chosen[word]
    }
    out = out text
    gsub(/~/, " ", out)
    gsub(/ +$/, "", out)
    return out
}

function write_pattern(name,    i, line, words, program, front, behind, environment, file) {
    program = "prog"
    front = behind = environment = ""
    file = into "/" name
    for (i = 1; i <= lines; i++) {
        line = step[i]
        if (match(line, /^\?[A-Z]+ /)) {
            if (chosen[substr(line, 2, RLENGTH - 2)] == "")
                continue
            line = substr(line, RLENGTH + 1)
        }
        line = expanded(line)
        split(line, words, " ")
        if (words[1] == "run")
            program = words[2]
        else if (words[1] == "front")
            front = words[2]
        else if (words[1] == "behind")
            behind = words[2]
        else if (words[1] == "env")
            environment = substr(line, 5)
        else if (line != "" && into != "")
            print line >file
    }
    if (into != "")
        close(file)
    print name "|" program "|" front "|" behind "|" environment
}

FNR == 1 { flush_family() }
/^#/ || NF == 0 { next }
$1 == "pattern" {
    flush_family()
    family = FILENAME
    sub(/.*\//, "", family)
    sub(/\.txt$/, "", family)
    family = family "." $2
    dimensions = lines = 0
    next
}
$1 == "with" {
    dimensions++
    variable[dimensions] = $2
    count[dimensions] = NF - 2
    for (i = 3; i <= NF; i++)
        value[dimensions, i - 3] = $i
    next
}
{
    sub(/^ +/, "")
    step[++lines] = $0
}
END { flush_family() }
