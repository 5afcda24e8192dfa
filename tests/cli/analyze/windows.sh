# SPDX-License-Identifier: MIT
# Two windows of one process are one recording, and the 10 s between them are in no figure: the span is
# that of both, and each step is that of its window.
traces=$SHARED/data/traces/hta
[[ -n $SHARED && -e $traces ]] || { echo "no ../shared data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir one two
python3 - "$traces"/negative_queue_length_values_check/rank0.json.gz <<'END'
import gzip, json, sys
trace = json.load(gzip.open(sys.argv[1]))
for folder in 'one', 'two':
    json.dump(trace, open(folder + '/h_4515.1.pt.trace.json', 'w'))
for event in trace['traceEvents']:
    event['ts'] = event.get('ts', 0) + 12000000
    if event.get('name', '').startswith('ProfilerStep#'):
        event['name'] = 'ProfilerStep#%d' % (int(event['name'].split('#')[1]) + 100)
json.dump(trace, open('two/h_4515.2.pt.trace.json', 'w'))
END
"$SPECTER" analyze --full two 2>&1 >/dev/null | grep windows
for folder in one two; do "$SPECTER" analyze --full $folder --json - 2>/dev/null >$folder.json; done
python3 - <<'END'
import json
one, two = (json.load(open(f + '.json')) for f in ('one', 'two'))
spans = [r['ranks'][0]['span_us'] for r in (one, two)]
print('span: %.2f of one window' % (spans[1] / spans[0]))
print('steps: %d and %d' % tuple(len(r['steps']) for r in (one, two)))
END

# A step never spans the pause: step times of both are the same in every command.
. "$ROOT"/tests/cli/agree/common.bash
for folder in one two; do agree $folder $folder --gpu h100_sxm || exit 1; done
