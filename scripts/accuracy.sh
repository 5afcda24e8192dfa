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

page() {
    cat <<'EOF'
# Accuracy

Errors of the models on published measurements, in per cent, by `make accuracy`. The command above each table shows
more classes; GPUs and networks with fewer than ten rows are not here. [validate.md](validate.md) defines the figures,
[src/model/README.md](../src/model/README.md) says where the models are wrong.

**In sample**: the parameters were fitted on these rows, too. **Left out**: they were fitted without them; expect these
errors of a machine without measurements.

## Collectives, in sample
EOF
    show '' validate collectives.csv collectives_more.csv --worst 0
    if [[ -z $IN_SAMPLE ]]; then
        printf '\n## Collectives, left out\n\n'
        echo 'SIMPLE_MOVES (src/model/comm_price.c) is a constant read off aws_p4d and gcp_a3_mega, LL_MESSAGE_GBPS and those'
        echo 'of messages (comm.c) off AlltoAlls of A100, H100, B200 and GB200.'
        show 'collective network+ nodes+' validate collectives.csv collectives_more.csv --leave-one-out source --worst 0
    fi
    printf '\n## GEMMs, in sample\n'
    show '' validate gemm.csv --worst 0
    if [[ -z $IN_SAMPLE ]]; then
        printf '\n## GEMMs, left out\n'
        show 'dtype gpu+' validate gemm.csv --leave-one-out gpu --worst 0
    fi
    printf '\n## Messages between two GPUs, in sample\n'
    show '' validate p2p.csv --worst 0
    cat <<'EOF'

## The fitted parameters

Defined in src/model/params.h, with their values in profiles/fitted.def. Those that the above rests on:

    specter validate collectives.csv collectives_more.csv gemm.csv p2p.csv --parameters
EOF
}

page | awk -f "$ROOT/scripts/plain_tables.awk"
