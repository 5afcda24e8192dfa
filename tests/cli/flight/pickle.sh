# A pickled dump is read, as long as it holds data only: what would import, call or build is refused
# by name. A cut one is read as far as it goes.
mkdir dumps
printf '\x80\x02}q\x00(X\x09\x00\x00\x00pg_configq\x01cos\nsystem\nq\x02X\x02\x00\x00\x00id\x85Ru.' \
    >dumps/nccl_trace_rank_0
"$SPECTER" analyze --full dumps
echo "status $?"
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 "$ROOT/tests/cli/flight/job.py" dumps '{"stop":{"9":30}}'
head -c 1500 dumps/_dump_4 >cut && mv cut dumps/_dump_4
rm dumps/nccl_trace_rank_0
"$SPECTER" analyze --full dumps >out.txt
echo "status $?"
sed -n 's/^ *1\. //p' out.txt
