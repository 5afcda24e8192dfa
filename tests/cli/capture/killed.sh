# A program that SIGKILL ends: its status, and the trace without an end named.
export LD_LIBRARY_PATH=$BUILD/emu/lib RANK=0 WORLD_SIZE=1 SPECTER_EXAMPLE_ID=$PWD/id EMU_DIR=$PWD
"$SPECTER" capture -o traces -- sh -c 'echo $$ >pid; exec "$@"' sh "$BUILD/examples/train" \
    --iters 1000000 --layers 1 --buckets 1 --hidden 64 --tokens 64 2>err &
capture=$!
for i in {1..200}; do
    grep -qs '^{"id"' traces/specter_trace_rank0.jsonl && break # an operation, not only the head
    sleep 0.05
done
kill -9 "$(cat pid)"
wait $capture
echo "status $?"
cat err
"$SPECTER" analyze --full --json /dev/null traces 2>&1 >/dev/null | grep -c .
