# Shards that are missing, there twice, of two runs, cut, damaged or of traces that were changed: a line each.
cp -r "$ROOT/tests/data/two_ranks" traces
for i in 1 2; do "$SPECTER" analyze traces --shard $i/2 2>/dev/null || echo "shard: $?"; done
tried() { # WHAT SHARDS...
    echo "$1:"
    "$SPECTER" merge "${@:2}" -- --json /dev/null 2>&1 >/dev/null | grep -v note:
    echo "status ${PIPESTATUS[0]}"
}
tried whole specter_shards
"$SPECTER" analyze traces --shard 1/2 2>&1
tried 'one missing' specter_shards/2-of-2.shard
cp specter_shards/1-of-2.shard copy.shard
tried twice specter_shards copy.shard
"$SPECTER" metrics traces --shard 1/2 --shard-dir other 2>/dev/null
tried 'two commands' other specter_shards/2-of-2.shard
cp -r traces moved && "$SPECTER" analyze moved --shard 1/2 --shard-dir elsewhere 2>/dev/null
tried 'two runs' elsewhere specter_shards/2-of-2.shard
size=$(stat -c %s specter_shards/1-of-2.shard)
damage() { # NAME COMMAND...: of a copy of the first shard
    rm -rf damaged && mkdir damaged && cp specter_shards/*.shard damaged/
    "${@:2}" damaged/1-of-2.shard
    tried "$1" damaged
}
change() { printf '\377' | dd of="$1" bs=1 seek=$((size / 2)) conv=notrunc status=none; }
damage cut truncate -s $((size - 100))
damage 'cut in line 1' truncate -s 20
damage empty truncate -s 0
damage 'a changed byte' change
damage 'another version' sed -i '1s/"specter":"[^"]*"/"specter":"0.0.1"/'
damage 'no part' sed -i '1s/"part":1/"part":7/'
"$SPECTER" analyze traces --shard 1/1 --shard-dir one 2>/dev/null
sed -i '1s/"command":"analyze"/"command":"capture"/' one/*.shard
tried 'another command' one
tried 'no shard' traces/*.jsonl
mkdir none
tried "an empty folder" none
tried nowhere nothing.shard
first=$(ls traces/*.jsonl | head -1)
echo >>"$first"
tried 'changed traces' specter_shards
rm "$first"
tried 'a trace that is gone' specter_shards
mv traces away
tried 'no traces' specter_shards
for options in "analyze away --json out.json" "metrics away --full" "export away --format csv -o out"; do
    "$SPECTER" $options --shard 1/2 2>&1
    echo "status $?"
done
"$SPECTER" merge 2>&1
echo "status $?"
"$SPECTER" analyze away --shard 3/2 2>&1
echo "status $?"
mkdir -m 500 closed
[[ $(id -u) == 0 ]] || "$SPECTER" analyze away --shard 1/1 --shard-dir closed/x 2>&1 | grep -c 'cannot make directory'
[[ $(id -u) != 0 ]] || echo 1
echo file >taken
"$SPECTER" analyze away --shard 1/1 --shard-dir taken 2>&1
echo "status $?"
