# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Checks a folder of examples/traces, where it is recorded (checks/examples.bash) and in every run of the
# tests (tests/cli/examples): it must be small, described, without a word about people and machines, and read by every
# command. Needs SPECTER and ROOT; writes into a folder of its own.

FIXTURE_BYTES=1000000
FIXTURE_IDENTITY=3 # percent that a replay on the recorded hardware may be off

# fixture FOLDER: prints each requirement that is not met; status 1 where there is one.
fixture() {
    local folder=$1 scratch status=0
    scratch=$(mktemp -d) || return 1
    {
        fixture_files "$folder" "$scratch"
        fixture_read "$folder" "$scratch"
        fixture_replay "$folder" "$scratch"
        fixture_export "$folder" "$scratch"
    } 2>&1 | sed "s|^|${folder##*/}: |" | grep . && status=1
    rm -rf "$scratch"
    return $status
}

fixture_files() {
    local bytes
    bytes=$(cat "$1"/* | wc -c)
    ((bytes < FIXTURE_BYTES)) || echo "$bytes bytes, $FIXTURE_BYTES or more"
    [ -s "$1/README.md" ] || echo "no README.md"
    "${PYTHON:-python3}" "$ROOT/tests/gpu/scrub.py" --check "$1"
}

# tried COMMAND...: specter's, which must end with status 0 with every rank there.
tried() {
    local status=0
    "$SPECTER" "$@" --strict >/dev/null 2>&1 || status=$?
    [ $status = 0 ] || echo "specter $1${format:+ --format $format}: status $status"
}

# Every rank is there, and nothing of it is lost.
fixture_read() {
    local files ranks
    files=$(find "$1" -name '*.json*' | wc -l)
    tried analyze "$1" --json "$2/analyze.json"
    ranks=$(awk '$1 == "\"ranks\":" { sub(",", ""); print $2; exit }' "$2/analyze.json")
    [ "$ranks" = "$files" ] || echo "$ranks ranks in $files files"
    tried metrics "$1"
}

# identity_of FOLDER: by how many percent a replay on its own hardware misses the recorded iteration.
identity_of() { "$SPECTER" replay "$1" --full --scale 1 2>/dev/null | sed -n 's/^iteration .*(\([-+][0-9.]*\) %).*/\1/p'; }

fixture_replay() {
    awk -v off="$(identity_of "$1")" -v most=$FIXTURE_IDENTITY 'BEGIN {
        if (off == "" || off > most || off < -most) print "a replay on its own hardware is off by " off " %" }'
    tried replay "$1" --scale 1,8,64
}

fixture_export() {
    local format formats
    formats=$("$SPECTER" export --help | sed -n 's/.*--format \([a-z|]*\).*/\1/p' | head -n 1 | tr '|' ' ')
    [ -n "$formats" ] || echo "no export format is known"
    for format in $formats; do
        tried export "$1" --format "$format" -o "$2/$format"
        [ -s "$2/$format" ] || echo "export --format $format wrote nothing"
    done
}
