# Lines that cannot be used are counted, the first is named; one that is cut at the end is none.
. "$ROOT/tests/cli/inspector/inspector.bash"
{
    coll 0 AllReduce 0 1000000 100
    coll 7 AllReduce 0 1000000 100
    echo '{"header":{"id":"0x1","rank":"two"}}'
    coll 0 Send 1 1000000 100
    coll 0 AllReduce 1 1000000 100 | head -c 300
} >logs/node0-pid100.log
figures logs
{ coll 0 AllReduce 0 1000000 100 | head -c 330; } >logs/node0-pid100.log
figures logs
