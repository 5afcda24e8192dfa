# SPDX-License-Identifier: MIT
# GEMMs of a file: words of a line, a table, what `bench gemm` wrote itself; lines that are wrong are named.
. "$ROOT/tests/cli/bench_collective/common.bash"
gemm() { "$SPECTER" bench gemm "$@"; echo "status $?"; }
cat >list.txt <<'END'
# what a model of mine multiplies
4096 4096 1024
128 8192 8192 bf16
512 512 64 16 half NN   # heads

0 4096 4096
64 x 4096
64 64
8 8 8 2 bf16 TN more
8 8 8 fp3
16777216 16777216 16777216 65536
END
gemm --shapes list.txt --dtype bf16,fp32 --list 2>&1
printf 'name,m,n,k,batch,dtype,order,cache\na,64,128,256,2,fp32,NT,hot\nb,64,-1,256,1,fp32,,\nc,32,32,32,,bf16,,cold\n' >table.csv
gemm --shapes table.csv --list 2>&1
head -n 3 list.txt | gemm --shapes /dev/stdin --dtype bf16 -o out.csv --full --json out.json >text 2>err
cat text err | awk '/predicted for|not begun/ || /^ *bf16 +4096/ && NF > 12 { print $1, $2, $3, $4, $5, $6, $7 }'
"$SPECTER" bench gemm --shapes out.csv --list
"$SPECTER" bench gemm --shapes out.csv -o folder >/dev/null && ls folder | sed 's/_[0-9_]*\./_TIME./'
