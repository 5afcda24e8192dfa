#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Prints docs/accuracy.md: the errors of the models on the measured tables, as `specter validate` has
# them. The same tables and the same models give the same bytes.
#
#   BUILD=build scripts/accuracy.sh [--in-sample] [FOLDER] >docs/accuracy.md
#
# --in-sample leaves out what needs fits, which take a minute. FOLDER holds collectives.csv,
# collectives_more.csv, gemm.csv and p2p.csv; default: ../shared/data/measured. Status 77: it is not there.
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "$0")/.." && pwd)
SPECTER=$(realpath "${BUILD:-$ROOT/build}")/specter
IN_SAMPLE=
[[ ${1:-} != --in-sample ]] || { IN_SAMPLE=1; shift; }
FOLDER=${1:-$ROOT/../shared/data/measured}

if [[ ! -d $FOLDER ]]; then
    echo "accuracy.sh: no measured tables: '$FOLDER' is not there" >&2
    exit 77
fi
cd "$FOLDER" # the document names the tables without their folder

# errors GROUP...: of what `specter validate --format md` prints, its tables of errors as one: the totals and the
# rows of these groups, in per cent, without the mean. The reasons of skips are left out. GROUP+ keeps classes of at
# least 10 rows. Other tables and lines pass, units in their headings.
errors() {
    awk -F ' *[|] *' -v groups="$*" '
        BEGIN {
            n = split(groups, name, " ")
            for (i = 1; i <= n; i++) {
                least = sub(/[+]$/, "", name[i]) ? 10 : 1
                wanted[name[i]] = least
            }
        }
        function show(class) {
            printf "| %s | %s | %s | %s | %s | %s |\n", class, $(NF - 6), $(NF - 5), $(NF - 3), $(NF - 2), $(NF - 1)
        }
        /^$/ { blank = 1; table = ""; next }
        table == "other" { gsub(/ [x%] [|]/, " |") } # their heading says what they are
        !/^[|]/ || table == "other" { if (blank) print ""; blank = 0; print; next }
        table == "" && $2 == "skipped" { table = "skipped"; next }
        table == "skipped" { next }
        table == "" && $2 == "error of all rows" {
            table = "totals"
            print "\n| class | rows | median | p90 | bias | in 25% |\n| --- | ---: | ---: | ---: | ---: | ---: |"
        }
        table == "" && $3 == "" && $4 == "rows" { table = "groups" }
        table == "" { table = "other"; print ""; gsub(/ within/, " within, x"); gsub(/ held/, " held, %"); print; blank = 0; next }
        { blank = 0; gsub(/ %/, "") }
        $0 !~ /[|] [0-9]+ [|]/ { next }
        table == "totals" && $2 !~ /^each of 1 source/ { show($2) }
        table == "groups" && $2 != "" { group = $2 }
        table == "groups" && group in wanted && $4 >= wanted[group] { show((group == "nodes" ? "nodes " : "") $3) }
    '
}

# show GROUPS COMMAND...: runs a command of specter, shows it and what errors() leaves of what it says.
show() {
    printf '\n    specter %s\n\n' "${*:2}"
    { "$SPECTER" "${@:2}" --format md || [[ $? == 4 ]]; } | errors $1
}

# noise_floor TABLE...: by how much two sources differ that measured the same, the slower over the faster, each by its
# median: a model of both errs by about half of that at best. Element types of collectives do not count.
noise_floor() {
    local rows
    rows=$(mktemp)
    "$SPECTER" validate "$@" --worst 0 --rows "$rows" >/dev/null || [[ $? == 4 ]]
    awk -F, '
        function value(name) { return $column[name] }
        function quantile(list, n, q,    at, i) {
            at = q * (n - 1) + 1
            i = int(at)
            return i < n ? list[i] + (at - i) * (list[i + 1] - list[i]) : list[n]
        }
        function ascending(list, n,    i, k, x) {
            for (i = 2; i <= n; i++) {
                x = list[i]
                for (k = i - 1; k >= 1 && list[k] > x; k--)
                    list[k + 1] = list[k]
                list[k + 1] = x
            }
        }
        function median_of(question, source,    n, i, list) {
            n = count[question, source]
            for (i = 1; i <= n; i++)
                list[i] = us[question, source, i]
            ascending(list, n)
            return quantile(list, n, 0.5)
        }
        function told(list, n) { # by what median, p90, and how many pairs
            ascending(list, n)
            return sprintf("%.1f %% (p90 %.1f, %d pairs)", 100 * quantile(list, n, .5), 100 * quantile(list, n, .9), n)
        }
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        value("status") != "scored" { next }
        {
            question = ""
            for (i = column["kind"]; i < column["measured_us"]; i++)
                if (i != column["source_id"] && !(i == column["dtype"] && value("kind") == "collective"))
                    question = question FS $i
            source = value("source_id")
            us[question, source, ++count[question, source]] = value("measured_us")
            if (count[question, source] == 1)
                sources[question, ++nsources[question]] = source
            if (value("nodes") > 1)
                between[question] = 1
        }
        END {
            for (question in nsources)
                for (i = 2; i <= nsources[question]; i++)
                    for (k = 1; k < i; k++) {
                        a = median_of(question, sources[question, i])
                        b = median_of(question, sources[question, k])
                        d = a > b ? a / b - 1 : b / a - 1
                        if (question in between) far[++nfar] = d
                        else near[++nnear] = d
                    }
            if (nnear + nfar == 0)
                print "\nNoise floor: not known, no two sources measured the same."
            else
                print "\nNoise floor: sources that measured the same differ by " \
                    (nnear > 0 ? told(near, nnear) : "") (nnear > 0 && nfar > 0 ? ",\nbetween nodes by " : "") \
                    (nfar > 0 ? told(far, nfar) : "") "."
        }' "$rows"
    rm -f "$rows"
}

page() {
    cat <<'EOF'
# Accuracy

Errors of the models on published measurements, in per cent, by `make accuracy`. The command above each table shows
all classes, also GPUs and networks below ten rows. [validate.md](validate.md) defines the figures,
[src/model/README.md](../src/model/README.md) says where models are wrong.

**In sample**: the parameters were fitted on these rows, too. **Left out**: without them, as for a machine without
measurements.

## Collectives, in sample
EOF
    show '' validate collectives.csv collectives_more.csv --worst 0
    noise_floor collectives.csv collectives_more.csv
    if [[ -z $IN_SAMPLE ]]; then
        printf '\n## Collectives, left out\n\n'
        echo 'SIMPLE_MOVES (src/model/comm_price.c) is a constant read off aws_p4d and gcp_a3_mega, LL_MESSAGE_GBPS and those'
        echo 'of messages (comm.c) off AlltoAlls of A100, H100, B200 and GB200.'
        show 'collective network+ nodes+' validate collectives.csv collectives_more.csv --leave-one-out source --worst 0
    fi
    printf '\n## GEMMs, in sample\n'
    show '' validate gemm.csv --worst 0
    noise_floor gemm.csv
    if [[ -z $IN_SAMPLE ]]; then
        printf '\n## GEMMs, left out\n'
        show 'dtype gpu+' validate gemm.csv --leave-one-out gpu --worst 0
    fi
    printf '\n## Messages between two GPUs, in sample\n'
    show '' validate p2p.csv --worst 0
    cat <<'EOF'

## The fitted parameters

src/model/params.h defines them, profiles/fitted.def has their values. In use above:

    specter validate collectives.csv collectives_more.csv gemm.csv p2p.csv --parameters
EOF
}

page | awk -f "$ROOT/scripts/plain_tables.awk"
