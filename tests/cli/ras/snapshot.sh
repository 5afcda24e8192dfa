# ncclras's JSON as a snapshot of a job that may hang: which ranks have not called the collective that the others have;
# ranks that do not answer, and errors; nothing where all have called the same; damage with its place.
. "$ROOT/tests/cli/ras/snapshot.bash"
say() {
    "$SPECTER" analyze "$1" --full --fail-on 'hangs>0' >out 2>err
    echo "$1: status $?"
    sed -n '/^1\. /,/^2\. /p' out | grep -v '^2\. '
    grep 'RAS\|asynchronous\|hangs is\|byte\|believed' err
}
snapshot 5 >behind.json && say behind.json
snapshot 0 1 >two.json && say two.json
snapshot >well.json && say well.json
missing=5 snapshot 2 >missing.json && say missing.json
head -c 4000 behind.json >cut.json && say cut.json
head -c 300 behind.json >early.json && say early.json
sed 's/"size": [82]/"size": 99999999999/' behind.json >large.json && say large.json
sed 's/"AllReduce": 4/"AllReduce": -4/' behind.json >negative.json && say negative.json
gzip -k behind.json && "$SPECTER" analyze behind.json.gz 2>&1 | grep -c 'rank 5 (process 1005 on 10.0.0.2) has not called'

echo "== with RAS' answers to \`nc\`; without the versions ahead"
printf 'OK\nSERVER PROTOCOL 2\r\n\nOK\n' | cat - behind.json >answers.json && say answers.json
sed '/"nccl_version"\|_version"\|"timestamp"\|"communicators_count"/d' behind.json >bare.json && say bare.json
