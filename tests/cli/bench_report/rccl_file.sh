# The file of results of rccl-tests (-x FILE): JSON and CSV, with and without MPI; all processes counted as of one node.
row() { # NODES RANKS SIZE INPLACE TIME
    printf '{"numCycle":0, "name":"AllReduce", "nodes":%d, "ranks":%d, "ranksPerNode":%d, "gpusPerRank":1, ' \
        "$1" "$2" $(($2 / $1))
    printf '"size":%d, "type":"float", "redop":"sum", "inPlace":%d, "time":%s, "algBw":1.0, "busBw":1.0, "wrong":"0"}' \
        "$3" "$4" "$5"
}
say() { # FILE
    echo "== $1"
    "$SPECTER" bench report "$1" --gpu mi300x --format csv >out 2>err
    echo "status $?"
    cut -d, -f1-12 out
    grep -v 'assuming' err
}
{ echo '['; row 1 8 1048576 0 43.500000; echo ,; row 1 8 1048576 1 43.250000; echo ,; row 1 8 0 0 0.000000; echo; echo ']'; } >one.json
{ row 2 16 1048576 0 154.000000; echo; row 2 16 1048576 1 oops; } >lines.json
{ echo '['; row 1 16 1048576 0 154.000000; echo ']'; } >all_as_one.json
{
    echo 'numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace,time,algbw,busbw,#wrong'
    echo '0,"AllGather",2,2,1,8,1048576,"bfloat16","none",0,154.000000,1.0,1.0,"3"'
    echo '0,"AllGather",2,2,1,8,2097152,"bfloat16","none",0,nan,1.0,1.0,"N/A"'
} >new.csv
sed 's/collective,nodes/collective/' new.csv | head -2 >old.csv
{
    echo 'numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong'
    echo '0,"AlltoAll",8,1048576,"half","none",0,43.500000,1.0,1.0,"N/A"'
} >no_mpi.csv
for file in one.json lines.json all_as_one.json new.csv old.csv no_mpi.csv; do say $file; done
"$SPECTER" bench report new.csv 2>&1 | head -12
