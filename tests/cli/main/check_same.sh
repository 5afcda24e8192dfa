# SPDX-License-Identifier: MIT
# scripts/check_same.py: numbers, keys and kinds of values count, words do not.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir base new
# both NAME BASE NEW
both() {
    printf '%s' "$2" >"base/$1"
    printf '%s' "$3" >"new/$1"
}
both same.json '{"a": [1, 2.5], "text": "product"}' '{"a": [1, 2.5], "text": "GEMM"}'
both table.csv $'rank,wait\n0,1.5\n' $'rank,waits\n0,1.5\n'
both q.status 'status 0' 'status 0'
python3 "$ROOT/scripts/check_same.py" base new
echo "status $?"
both number.json '{"a": [1, 2.5]}' '{"a": [1, 2.6]}'
both key.json '{"a": 1}' '{"b": 1}'
both kind.json '{"a": 1, "t": "3 ranks"}' '{"a": true, "t": "4 ranks"}'
both lines.jsonl $'{"a": 1}\n{"a": 2}\n' $'{"a": 1}\n'
both table.csv $'rank,wait\n0,1.5\n' $'rank,wait\n0,1.6\n'
both q.status 'status 0' 'status 139'
echo 1 >new/more.csv
python3 "$ROOT/scripts/check_same.py" base new
echo "status $?"
# The commit that `make check-same BASE=...` names is no option of the compiler.
make -n -C "$ROOT" B=nothing_built check-same BASE=HEAD 2>/dev/null | grep -m 1 -o -e '-Isrc .* src/main.c' | grep -c -e -Isrc
