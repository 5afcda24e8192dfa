# Nothing runs any more: rings become ordinary traces, and the newest run is taken.
. "$ROOT/tests/cli/dump/common.bash"
SPECTER_RUN=old traced traces "$FLIGHT" steps 1 0 || exit 1
export SPECTER_RUN=new SPECTER_RING=50
SPECTER_RING=0 RANK=1 traced traces "$FLIGHT" steps 2 0 || exit 1
start traces
for ((i = 0; i < 200; i++)); do
    grep -qs '"timing":"none"' traces/* && break
    sleep 0.05
done
stop
dump --wait 60 traces
ls "$made"
check "$made"/*
! grep -q -e '^#' -e '^ ' "$made"/* || fail "slots were copied"
ops "$made"/specter_trace_rank0.1.jsonl op timing | sort | uniq -c
"$SPECTER" analyze --full "$made" >/dev/null
