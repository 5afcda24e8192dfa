# SPDX-License-Identifier: MIT
# Texts of `ncclras` as they come: of NCCL 2.24, which counts all functions as one; lists of those ahead; a launcher's
# labels and line ends; communicators smaller than the job; several snapshots; cut and damaged ones.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT/tests/cli/ras/snapshot.bash"
answer() { # FILE
    "$SPECTER" analyze "$1" --full >out 2>err
    echo "$1: status $?"
    sed -n '/^1\. /,/^2\. \|^More/p' out | grep -v '^2\. \|^More\|^$\|   Note\|kernels other\|reads as idle'
    grep -v 'common clock\|when the trace ends' err
}
of_32() { # the head of a job with one communicator of 32 ranks
    printf '%s\n' 'NCCL version 2.26.2 compiled with CUDA 12.6' 'CUDA runtime version 12060, driver version 12060' '' \
        'Job summary' '===========' '' '  Nodes  Processes         GPUs  Processes     GPUs' \
        '(total)   per node  per process    (total)  (total)' '      4          8            1         32       32' '' \
        'Communicators... (0.00s)' '=============' '' \
        'Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors' \
        '    #  in group  per comm  per node  per comm  in group' \
        "    0         ${1-1}         4         8        ${2-32}        32   RUNNING  ${3-MISMATCH}" '' 'Errors' '======' '' \
        'Warnings' '========' ''
}
{
    of_32
    echo '#0-0 (27a079b828ff1a75) MISMATCH'
    echo '  Communicator ranks have different collective operation counts'
    echo '  26 ranks have launched up to operation 6650'
    echo '  6 ranks have launched up to operation 6649'
    for gpu in 0 2 3 4 5 7; do
        echo "  Rank $gpu -- GPU $gpu managed by process 48307$gpu on node 172.16.64.210"
    done
} >of_2_24 && answer of_2_24
{
    of_32
    echo '#0-0 (fa93daea854b060b) MISMATCH'
    echo '  Communicator ranks have different AllGather operation counts'
    echo '  30 ranks have launched up to operation 640'
    echo '  2 ranks have launched up to operation 641'
    echo '  Rank 12 -- GPU 4 managed by process 323032 on node 10.137.190.124'
    echo '  Rank 13 -- GPU 5 (NVML 1) managed by process 323033 on node 10.137.190.124'
} >ahead && answer ahead
sed 's/^/ 3: /; s/$/\r/' ahead >labels && answer labels
sed 's/node 10.137.190.124/node a\x1b[31mb/' of_2_24 | sed 's/172.16.64.210/a\x1b[31mb/' >escapes && answer escapes
{
    of_32 8 4
    echo '#0-3 (00000000000000ab) MISMATCH'
    echo '  Communicator ranks have different AllReduce operation counts'
    echo '  3 ranks have launched up to operation 9'
    echo '  Rank 2 has not launched any operations -- GPU 5 managed by process 77 on node n1'
    echo '  Communicator ranks have different AllGather operation counts'
    echo '  3 ranks have launched up to operation 2'
    echo '  Rank 2 has launched up to operation 1 -- GPU 5 managed by process 77 on node n1'
    echo
    echo '#0-4 (00000000000000cd) MISMATCH'
    echo '  Communicator ranks have different AllReduce operation counts'
    echo '  3 ranks have launched up to operation 9'
    echo '  Rank 1 has launched up to operation 8 -- [process information not found]'
} >smaller && answer smaller
of_32 8 4 OK >well && answer well
# as NVIDIA's manual shows it: ranks that do not answer by their numbers alone, and whose process that is
silent() { # WORD: what RAS takes the process for
    of_32 1 32 INCOMPLETE | sed '/^Errors$/,$d'
    printf '%s\n' Errors ====== '' "$1" '  Missing communicator data from 1 job process' \
        '  Process 3487984 on node 172.16.64.213 managing GPU 5' '' '#0-0 (cf264af53edbe986) INCOMPLETE' \
        '  Missing communicator data from 1 rank' '  The missing rank: 21' '' Warnings ======== '' TIMEOUT \
        '  Encountered 2 communication timeouts while gathering communicator data'
}
silent INCOMPLETE >stopped && answer stopped
silent DEAD >dead && answer dead
silent INCOMPLETE | sed 's/from 1 rank/from 2 ranks/; s/rank: 21/ranks: 3 21/' >stopped2 && answer stopped2
silent INCOMPLETE | sed '/The missing/d' >unlisted && answer unlisted
{ # every set has its list, and so has the rank that does not answer
    of_32 1 3 'INCOMPLETE MISMATCH' | sed '/^Errors$/,$d'
    printf '%s\n' Errors ====== '' INCOMPLETE '  Missing communicator data from 1 job process' \
        '  Process 1002 on node n1 managing GPU 2' '' '#0-0 (00000000000000ab) INCOMPLETE' \
        '  Missing communicator data from 1 rank' '  The missing rank: 2' '' Warnings ======== '' \
        '#0-0 (00000000000000ab) MISMATCH' '  Communicator ranks have different AllReduce operation counts' \
        '  Rank 0 has launched up to operation 9 -- GPU 0 managed by process 1000 on node n1' \
        '  Rank 1 has launched up to operation 8 -- GPU 1 managed by process 1001 on node n1'
} >all_listed && answer all_listed

echo "== many communicators"
{
    of_32 20 4
    for comm in $(seq 0 19); do
        printf '%s\n' "#0-$comm (00000000000000$(printf '%02x' "$comm")) MISMATCH" \
            '  Communicator ranks have different AllReduce operation counts' '  2 ranks have launched up to operation 9' \
            '  2 ranks have launched up to operation 8' ''
    done
} >many && answer many
"$SPECTER" analyze many --fail-on 'hangs>19' >/dev/null 2>err
echo "status $?: $(tail -n 1 err)"

echo "== wider columns, as 2.30 prints them; parts of a text"
sed 's/^Group     Comms     Nodes/Group     Comms      Nodes/; 1,/^=============$/d' of_2_24 >wider && answer wider
{
    printf '%s\n' 'Communicators... (0.002s)' '=============' '' 'No communicator data collected!' '' 'Errors' '======' '' 'DEAD' \
        '  1 job process is considered dead (unreachable via the RAS network)' \
        '  Process 3748990 on node node1 managing GPU 3' '' 'Warnings' '========'
} >dead && answer dead

echo "== several"
snapshot 5 >state.json
python3 "$ROOT/tests/cli/ras/text.py" <state.json >one
cat one one >twice && answer twice | grep snapshots
{ snapshot 6 | python3 "$ROOT/tests/cli/ras/text.py"; cat one; } >moved && answer moved | grep 'snapshots\|has not'
{ cat one; head -c 1200 one; } >second_cut && answer second_cut
{ snapshot 6; cat state.json; } >moved.json && answer moved.json | grep 'snapshots\|has not'
{ cat state.json; head -c 2000 state.json; } >cut.json && answer cut.json | grep 'snapshots\|has not\|byte'

{ echo 'h:1:2 [0] NCCL INFO NCCL version 2.28.9+cuda13.0'; cat one one; head -c 1000 one; } >logged && answer logged | grep 'status\|snapshot'

echo "== damaged"
head -c 900 one >table_alone && answer table_alone
head -c 300 one >summary_alone && answer summary_alone
head -n -2 of_2_24 >list_cut && answer list_cut
sed 's/^    0 .*/    0 1 4 8 999999999 32 RUNNING MISMATCH/' of_2_24 >large && answer large
sed '/^Group/,/^    0/d' of_2_24 >without_table && answer without_table
for at in $(seq 1 37 "$(stat -c %s one)"); do
    head -c "$at" one >cut
    status=0
    "$SPECTER" analyze cut >/dev/null 2>&1 || status=$?
    ((status == 3 || status == 4)) || echo "cut at $at: status $status"
done

echo "== beside traces"
cp -r "$TESTDATA/two_ranks" traces && cp one traces/ras.txt && "$SPECTER" analyze traces 2>&1 >out | grep ras
"$SPECTER" analyze traces --run ras.txt 2>/dev/null | sed -n 3,4p
mkdir both && cp well both && cp one both && touch -d '1 minute ago' both/well
"$SPECTER" analyze both 2>&1 >out | grep 'runs\? here'
sed -n 3,4p out
