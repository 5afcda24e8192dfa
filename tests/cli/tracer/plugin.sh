# Events that NCCL tells its profiler plugin are joined to the calls that they are of, and to no other.
. "$ROOT/tests/cli/tracer/common.bash"
export NCCL_PROFILER_PLUGIN=${PRELOAD##* }

# Each line beside the count of the operation that it names: op count algo proto channels.
joined() {
    cat $1/*.jsonl | awk '
        function value(key,   at, text) {
            at = index($0, "\"" key "\":")
            if (at == 0)
                return "-"
            text = substr($0, at + length(key) + 3)
            sub(/[,}].*/, "", text)
            gsub(/"/, "", text)
            return text
        }
        function name(seq) { return value("op") " " value("comm") " " value("comm_rank") " " seq " " value("peer") }
        /"type":"nccl"/ && !seen[value("id")]++ { # once, also where it was written before it had finished
            key = value("seq") == "null" ? name(value("p2p_seq")) : name(value("seq"))
            order[++n] = key; count[key] = count[key] " " value("count"); op[key] = value("op")
        }
        /"type":"plugin"/ {
            line[name(value("seq"))] = line[name(value("seq"))] " " value("algo") " " value("proto") " " \
                value("channels") " " (value("kernel_us") == "null" ? "untimed" : value("kernel_us") > 0 ? "timed" : "0")
        }
        END {
            for (i = 1; i <= n; i++) {
                print op[order[i]] count[order[i]] ":" line[order[i]]
                delete line[order[i]]
            }
            for (key in line)
                print "of no operation: " key line[key]
        }'
}
for scenario in kinds groups splits nonblocking graphs ends; do
    echo "$scenario:"
    traced $scenario "$BUILD/tracer/plugin_calls" $scenario || exit 1
    check $scenario/*
    joined $scenario | LC_ALL=C sort
done
echo "threads:"
traced threads "$BUILD/tracer/plugin_calls" threads || exit 1
check threads/*
joined threads | sort | uniq -c | awk '{ $1 = $1; print }'
grep -o '"dropped":[0-9]*' */*.jsonl | grep -v ':0$'
exit 0
