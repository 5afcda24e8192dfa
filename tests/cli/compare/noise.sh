# SPDX-License-Identifier: MIT
# Pairs of equal jobs, three runs a side: each run's collectives take 0.5 % more or less than those of the others
# (standard deviation), each call 1 %. How often the verdicts, which are at 95 % for all rows of a table together,
# call this a change where any change counts; and how often a collective that takes 5 % longer is found.
pairs=200

# runs SEED FACTOR DIRECTORY...: a rank, 12 marked steps, 4 sizes of AllReduce; one of them times FACTOR.
runs() {
    awk -v seed="$1" -v factor="$2" -v list="${*:3}" '
        function uniform() { x = (x * 16807) % 2147483647; return x / 2147483647 }
        function noise(cv) { return 1 + cv * sqrt(-2 * log(uniform())) * cos(6.283185307 * uniform()) }
        function run(dir,   out, t, step, k, id, us, size) {
            out = dir "/specter_trace_rank0.jsonl"
            system("mkdir -p " dir)
            print "{\"event\":\"init\",\"version\":1,\"run\":\"" dir "\",\"rank\":0,\"world_size\":1,\"local_rank\":0,\"sync_mode\":0,\"pid\":1,\"host\":\"a\",\"mono_ns\":0,\"real_ns\":1,\"coverage\":[\"nccl\",\"cublas\"],\"sample\":1,\"nccl\":22809,\"cuda\":13000,\"gpus\":[],\"env\":{}}" >out
            print "{\"event\":\"comm\",\"time_us\":1,\"comm\":\"c\",\"comm_rank\":0,\"comm_size\":1,\"device\":0,\"parent\":null,\"split_seq\":null,\"color\":null,\"members\":null}" >out
            for (k = 0; k < 4; k++)
                of_run[k] = noise(0.005) * (k == 2 ? factor : 1)
            t = 10
            id = 0
            for (step = 0; step < 12; step++) {
                for (k = 0; k < 4; k++) {
                    size = 1024 * (k + 1)
                    us = int(10000 * (k + 1) * of_run[k] * noise(0.01)) / 100
                    printf "{\"id\":%d,\"type\":\"nccl\",\"op\":\"AllReduce\",\"comm\":\"c\",\"seq\":%d,\"count\":%d,\"dtype\":\"fp16\",\"bytes\":%d,\"duration_us\":%.2f,\"start_us\":%.2f,\"device\":0,\"stream\":1,\"tid\":1,\"host_us\":%d,\"host_end_us\":%d,\"timing\":\"device\"}\n", id, id, size, 2 * size, us, t, id * 2, id * 2 + 1 >out
                    id++
                    t += us + 1
                }
            }
            printf "{\"event\":\"shutdown\",\"time_us\":%.2f,\"total_ops\":%d,\"dropped\":0}\n", t + 9, id >out
            close(out)
        }
        BEGIN { x = seed * 7919 + 1; for (k = 0; k < 20; k++) uniform(); n = split(list, dirs, " "); for (i = 1; i <= n; i++) run(dirs[i]) }'
}

# verdicts SEED FACTOR THRESHOLD: of the four collectives, by size, and of the step.
verdicts() {
    runs "$1" 1 a1 a2 a3
    runs "$((1000 + $1))" "$2" b1 b2 b3
    "$SPECTER" compare a1,a2,a3 b1,b2,b3 --threshold "$3" --table collectives,step --format csv 2>/dev/null |
        sed -n 's/^"\{0,1\}AllReduce \([0-9]*\) KiB.*,\([a-z]*\)$/\1 \2/p; s/^step,.*,\([a-z]*\)$/step \1/p'
}

for ((i = 1; i <= pairs; i++)); do
    verdicts $i 1 0 | sed "s/^/$i /"
done >equal
for ((i = 1; i <= 100; i++)); do
    verdicts $((5000 + i)) 1.05 1
done >planted
# Of 200 at 5 % more than 16 come by chance in 2 of 100 cases; the noise here is always the same.
awk -v pairs=$pairs '
    { rows++ }
    $3 == "better" || $3 == "worse" { if ($2 == "step") step++; else { bad[$1] = 1; row[$2]++ } }
    END {
        for (i in bad) n++
        for (k in row) if (row[k] > most) most = row[k]
        print "rows: " rows
        print "pairs with a false verdict of a collective: " (n <= 16 ? "at most 8 %" : n " of " pairs)
        print "false verdicts of one collective: " (most <= 8 ? "at most 4 %" : most " of " pairs)
        print "false verdicts of the step: " (step <= 16 ? "at most 8 %" : step " of " pairs)
    }' equal
awk '$1 == "6" && $2 == "worse" { found++ } $1 != "6" && $1 != "step" && ($2 == "better" || $2 == "worse") { bad++ }
     END { print "5 % found: " (found >= 95 ? "at least 95 of 100" : found + 0); print "others: " (bad <= 16 ? "at most 16 of 300" : bad) }' planted
