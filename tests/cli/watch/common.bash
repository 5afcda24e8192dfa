# Functions of the tests of watch: sourced, not run.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
unset SPECTER_OUTPUT RANK WORLD_SIZE LOCAL_RANK

wall_ns=$(date +%s%N)
mono_ns=$(awk '{ printf "%.0f", $1 * 1000000000 }' /proc/uptime)

# init RANK WORLD: the head of a trace of this shell, begun two seconds before the test, as of its rank.
init() {
    printf '{"event":"init","version":1,"run":"w","rank":%d,"world_size":%d,"pid":%d,"host":"%s","mono_ns":%s,' \
        "$1" "$2" "${PID:-$$}" "$(hostname)" "$((mono_ns - 2000000000))"
    printf '"real_ns":%s,"coverage":["nccl","marks"]}\n' "$((wall_ns - 2000000000))"
    printf '{"event":"comm","time_us":0.100,"comm":"00000000000000aa","comm_rank":%d,"comm_size":%d,' "$1" "$2"
    printf '"device":0,"name":"%s"}\n' "${NAME:-dp}"
}

# op RANK WORLD SEQ [TIMING]: an AllReduce at SEQ milliseconds, which takes 100 us.
op() {
    local duration=100.000
    [[ ${4:-device} == none ]] && duration=null
    printf '{"id":%d,"type":"nccl","op":"AllReduce","start_us":%d.000,"duration_us":%s,"bytes":1048576,"count":262144,' \
        "$3" "$(($3 * 1000 + $1))" "$duration"
    printf '"dtype":"fp32","redop":"sum","comm":"00000000000000aa","comm_rank":%d,"comm_size":%d,"seq":%d,' "$1" "$2" "$3"
    printf '"device":0,"stream":0,"tid":0,"group":null,"host_us":%d.000,"host_end_us":%d.500,"timing":"%s"}\n' \
        "$(($3 * 1000))" "$(($3 * 1000))" "${4:-device}"
}

step() { # SEQ: a step begins there
    printf '{"event":"mark","name":"step","time_us":%d.000,"kind":"iteration","tid":0}\n' "$(($1 * 1000 - 100))"
}

closing() { echo '{"event":"shutdown","time_us":1900000.000,"total_ops":1,"dropped":0}'; }

# until EXPRESSION: waits until the Python expression holds for the last whole line that specter watch --json wrote
# into out, as doc, and prints the value of the second argument then.
until_seen() {
    python3 - "$@" <<'END'
import json, sys, time
for _ in range(600):
    lines = open("out").read().split("\n")[:-1]
    for line in lines[-1:]:
        doc = json.loads(line)
        if eval(sys.argv[1]):
            print(eval(sys.argv[2]))
            sys.exit()
    time.sleep(0.05)
print("never:", sys.argv[1], lines[-1:])
END
}

trace=traces/specter_trace_rank
