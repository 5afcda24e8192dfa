# Logs of two jobs in a folder are two runs, and never one: other communicators and other processes an
# hour later; with the same ranks, with other ones (0 to 1 and 2 to 3), and where one job has another world.
. "$ROOT/tests/cli/inspector/inspector.bash"
job() { # ID RANKS FIRST LAST PID SECONDS_LATER US
    local r
    for ((r = $3; r <= $4; r++)); do
        ID=$1 RANKS=$2 coll "$r" AllReduce 0 1000000 "$7" |
            sed "s/\"pid\":[0-9]*/\"pid\":$(($5 + r))/; s/1748030377748202/$((1748030377748202 + $6 * 1000000))/" \
                >>"logs/node0-pid$(($5 + r)).log"
    done
}
what() {
    echo "-- $1"
    "$SPECTER" analyze --full logs 2>&1 | grep -E 'ranks?$|other run|^AllReduce|  AllReduce|choose'
    rm -f logs/*
}
job 0xaa 2 0 1 100 0 100
job 0xbb 2 0 1 300 3600 200
what "the same ranks"
job 0xaa 2 0 1 100 0 100
job 0xbb 4 0 3 300 3600 200
what "another world"
job 0xaa 4 0 1 100 0 100
job 0xbb 4 2 3 300 3600 200
what "other ranks, another time"
job 0xaa 4 0 1 100 0 100
job 0xaa 4 2 3 300 0 100
what "one job"
