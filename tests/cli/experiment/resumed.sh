# SPDX-License-Identifier: MIT
# Killed in the middle an experiment goes on where it was, to the same manifest; a signal reaches the program and
# leaves what is done; a setting that fails is left out.
export EMU_FABRIC=$ROOT/tests/emu/fabric/h100.conf LD_LIBRARY_PATH=$BUILD/emu/lib
cat >job.sh <<SH
[ -z "\$FAIL" ] || { echo "no such thing: \$FAIL"; exit 7; }
echo "\${1:-another}" >>runs
[ ! -e hold ] || [ "\$1" = base ] || { echo \$\$ >held; while :; do sleep 0.1; done; }
exec "$ROOT/examples/launch.sh" -n 2 "$BUILD/examples/train" --iters 4
SH
cat >settings.json <<'J'
{"name": "rings", "settings": [
    {"label": "base", "args": ["base"]},
    {"label": "few channels", "env": {"NCCL_MAX_NCHANNELS": 2}, "capture": ["--no-marks"]},
    {"label": "fails", "env": {"FAIL": "{dir}"}}]}
J
run() { exec "$SPECTER" experiment settings.json --repeat 2 "$@" -- sh job.sh; }
(run -o whole) >whole.out 2>whole.err
echo "status $?"
sed "s#$PWD#DIR#; s/specter: in .*/in the folder/" whole.err
head -n 1 whole.out | sed 's/[0-9.]* %/N %/g; s/[-+]N/N/g; s/[0-9.]* [mu]s/N ms/g'

# until_held: for at most a minute.
until_held() {
    for _ in $(seq 600); do
        [ ! -e held ] || return
        sleep 0.1
    done
    echo "the program did not start"
}
# A process that a kill leaves running holds the folder until it has ended.
touch hold
run -o cut >/dev/null 2>&1 &
until_held
{ kill -KILL $! && wait $!; } 2>/dev/null
rm hold
(run -o cut) 2>&1
echo "status $?"
kill "$(cat held)"
for _ in $(seq 600); do
    (run -o cut --seed 2) 2>&1 | grep -q 'in use' || break
    sleep 0.1
done
rm runs held
touch "cut/few channels/run1/of_the_first_attempt"
"$SPECTER" experiment settings.json --repeat 3 -o cut -- sh job.sh 2>&1
echo "status $?"
(run -o cut) 2>&1 >/dev/null | grep 'goes on'
cat runs
ls "cut/few channels/run1"
sed '/"seconds"/d' whole/manifest.json >whole.json
sed '/"seconds"/d' cut/manifest.json | cmp - whole.json && echo "the same manifest"

touch hold
run -o stopped >stopped.out 2>stopped.err &
until_held
kill -TERM $! # a shell starts its background jobs with SIGINT ignored
wait $!
echo "status $?"
grep 'goes on' stopped.err
grep -c '"status":	null' stopped/manifest.json | sed 's/^[1-6]$/some are left/'

# Below nohup neither the program nor the experiment ends by SIGHUP.
rm hold held
printf '{"settings": [{"label": "a"}, {"label": "b"}]}' >two.json
(trap '' HUP; exec "$SPECTER" experiment two.json --repeat 1 -o nohup -- sh -c '[ -e held ] || { touch held; sleep 1; }; exec "$@"' \
    sh "$ROOT/examples/launch.sh" -n 2 "$BUILD/examples/train" --iters 4) >/dev/null 2>&1 &
until_held
kill -HUP $!
wait $!
echo "status $?"

# A run that ends well without traces is left out, and the others are compared.
printf '{"settings": [{"label": "a"}, {"label": "b"}, {"label": "none", "args": ["--help"]}]}' >three.json
"$SPECTER" experiment three.json --repeat 1 -o three -- "$ROOT/examples/launch.sh" -n 2 "$BUILD/examples/train" --iters 4 2>&1 >/dev/null | grep none

# The manifest says which library was loaded; another one than the expected is a failed run.
mkdir other && cp "$BUILD"/emu/lib/*.so* other
cat >libraries.json <<J
{"settings": [{"label": "a"}, {"label": "b"}, {"label": "other", "env": {"LD_LIBRARY_PATH": "$PWD/other"}}]}
J
"$SPECTER" experiment libraries.json --repeat 1 --expect-lib "$BUILD/emu/lib/libnccl.so.2" -o libraries -- \
    "$ROOT/examples/launch.sh" -n 2 "$BUILD/examples/train" --iters 4 2>&1 >/dev/null | sed "s#$PWD#DIR#g; s#$BUILD#BUILD#g" | grep 'loaded\|compared'
sed -n 's#^.*"library":.*/\(.*/.*\)".*#\1#p' libraries/manifest.json | sort | uniq -c
"$SPECTER" compare libraries/a/run1 libraries/other/run1 | grep -o 'Settings that differ: .*NCCL file'
