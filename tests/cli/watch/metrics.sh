# SPDX-License-Identifier: MIT
# The output of --openmetrics is read by the parsers of Prometheus' Python client, names that are no UTF-8, quotes and
# backslashes included; it is replaced, and stays as it was where the new one cannot be written.
. "$ROOT/tests/cli/watch/common.bash"
python=python3
if ! python3 -c 'import prometheus_client' 2>/dev/null; then
    python=$BUILD/prometheus/bin/python3
    [[ -x $python ]] && "$python" -c 'import prometheus_client' 2>/dev/null ||
        { python3 -m venv "$BUILD/prometheus" && timeout 120 "$python" -m pip -q install prometheus_client; } \
            >pip.txt 2>&1 || { echo "no prometheus_client"; exit 77; }
fi
mkdir traces text
for rank in 0 1; do
    { NAME=$'d\xff\\"p\\\\{' init $rank 2; for i in 1 2 3; do step $i; op $rank 2 $i; done; } >"$trace$rank.jsonl"
done
{ op 0 2 4 none; } >>"${trace}0.jsonl"
"$SPECTER" watch traces --once --openmetrics text/specter.prom >/dev/null
ls text
"$python" - <<'END'
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as older
text = open("text/specter.prom", encoding="utf-8").read()
families = {f.name: f for f in openmetrics(text)}
print(len(families), {f.type for f in families.values()}, all(f.documentation for f in families.values()))
def of(name):
    return [(sorted(s.labels.items()), s.value) for s in families["specter_" + name].samples]
print(of("ranks"), of("hangs"))
print([v for _, v in of("step")], [round(v, 6) for _, v in of("step_time_seconds")])
print([v for _, v in of("rank_waiting")], [v for _, v in of("rank_blocked")])
(labels, busbw), = of("busbw_bytes_per_second")
print([l for l in labels if l[0] != "host"], round(busbw / 1e9, 2))
print(sum(len(f.samples) for f in older(text)) == sum(len(f.samples) for f in families.values()))
END
cp text/specter.prom before
(trap '' XFSZ; ulimit -f 0; exec "$SPECTER" watch traces --once --openmetrics text/specter.prom) 2>&1 >/dev/null | cat
cmp before text/specter.prom && ls text
[[ -e /dev/full ]] && "$SPECTER" watch traces --once --openmetrics /dev/full 2>&1 >/dev/null
echo "status $?"
"$SPECTER" watch traces --once --openmetrics nowhere/specter.prom 2>&1 >/dev/null
echo "status $?"
