#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes the objects of the loading tests (objects.txt): build.sh FOLDER
set -euo pipefail
OUT=$(realpath -m "$1")
cd "$(dirname "$0")"
CC=${CC:-cc}

# compiled SOURCE OPTION...: the path of its object file, made once for the same options.
compiled() {
    local file
    file=$OUT/o/$(echo "$*" | tr -c 'a-zA-Z0-9\n' _).o
    [[ -e $file ]] || "$CC" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wno-unused-parameter \
        -c -o "$file" "$1.c" "${@:2}"
    echo "$file"
}

# made NAME SOURCES WORD...: one line of the table.
made() {
    local name=$1 sources=$2 entry=${1##*/} word file
    local -a compile=(-fPIC) link=(-shared) objects=() paths=()
    shift 2
    [[ $sources != *loader* ]] || compile=(-fPIE) link=(-pie)
    [[ $sources != *caller* ]] || compile+=(-DLIFE_IN_CALLER)
    [[ $sources != caller* ]] || link+=("-Wl,--defsym=entry_${entry%%.*}=entry")
    for word in "$@"; do
        case $word in
        -D* | -f*) compile+=("$word") ;;
        -*) link+=("$word") ;;
        @*) paths+=("-Wl,-rpath,\$ORIGIN/${word#@}") ;;
        soname=*) link+=("-Wl,-soname,${word#*=}") ;;
        node=*)
            echo "${word#*=} { global: *; };" >"$OUT/o/$entry.map"
            link+=("-Wl,--version-script,$OUT/o/$entry.map")
            ;;
        *) objects+=("$OUT/$word") ;;
        esac
    done
    [[ ${#paths[@]} != 0 ]] || paths=("-Wl,-rpath,\$ORIGIN")
    for word in ${sources//+/ }; do
        file=$(compiled "$word" "${compile[@]}")
        objects=("$file" ${objects[@]+"${objects[@]}"})
    done
    mkdir -p "$OUT/$(dirname "$name")"
    "$CC" -Wl,-z,lazy "${link[@]}" -o "$OUT/$name" -Wl,--no-as-needed,--allow-shlib-undefined \
        "${objects[@]}" "${paths[@]}" -lpthread -ldl
}

rm -rf "$OUT"
mkdir -p "$OUT/o"
while read -r name sources words; do
    [[ -n $name && $name != \#* ]] || continue
    # shellcheck disable=SC2086  # the words are several
    made "$name" "$sources" $words
done <objects.txt
