# capture --ring: its last line counts what the ring holds, also when the program was killed.
. "$ROOT/tests/cli/tracer/common.bash"
export SPECTER_LIB=$LIBSPECTER
"$SPECTER" capture --ring 40 -o traces -- "$FLIGHT" steps 30 0
head -n 1 traces/* | grep -o '"ring":[0-9]*'
"$SPECTER" capture --ring 40 -o killed -- sh -c 'echo $$ >pid; exec "$@"' sh "$FLIGHT" hang 30 2>err &
for ((i = 0; i < 200; i++)); do
    grep -qs '"type":"nccl"' killed/* && break
    sleep 0.05
done
kill -9 "$(cat pid)"
wait $!
echo "status $?"
cat err
