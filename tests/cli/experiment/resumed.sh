# SPDX-License-Identifier: MIT
# Killed in the middle an experiment goes on where it was, to the same manifest; a signal reaches the program and
# leaves what is done; a setting that fails is left out.
export EMU_FABRIC=$ROOT/tests/emu/fabric/h100.conf LD_LIBRARY_PATH=$BUILD/emu/lib
cat >job.sh <<SH
[ -z "\$FAIL" ] || { echo "no such thing: \$FAIL"; exit 7; }
[ ! -e hold ] || [ "\$1" = base ] || { touch held; sleep 100; }
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
touch hold
run -o cut >/dev/null 2>&1 &
until_held
kill -KILL $! && wait $! 2>/dev/null
rm hold held
"$SPECTER" experiment settings.json --repeat 3 -o cut -- sh job.sh 2>&1
echo "status $?"
(run -o cut) 2>&1 >/dev/null | grep -c 'goes on'
sed '/"seconds"/d' whole/manifest.json >whole.json
sed '/"seconds"/d' cut/manifest.json | cmp - whole.json && echo "the same manifest"

touch hold
run -o stopped >stopped.out 2>stopped.err &
until_held
kill -TERM $! # a shell starts its background jobs with SIGINT ignored
wait $!
echo "status $?"
grep -c 'goes on' stopped.err
grep -c '"status":	null' stopped/manifest.json | sed 's/^[1-6]$/some are left/'
