# SPDX-License-Identifier: MIT
# One page that needs nothing else, with what comes from outside escaped.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
dir='a<b>&"c'\''$(d)'
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks "$dir"
"$SPECTER" analyze --full "$dir" --html out.html 2>/dev/null | tail -n 1 >/dev/null
cp "$ROOT"/tests/cli/analyze/html_page.py .
python3 html_page.py out.html "a<b>&\"c'\$(d)"
"$SPECTER" analyze --full "$dir" --html again.html >/dev/null 2>&1
cmp out.html again.html && echo "the same bytes"

# Names of steps and kernels that would be markup, in tables and in titles of charts.
mkdir names
{
    echo '{"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":['
    echo '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":100},'
    echo '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":2,"dur":3,"args":{"correlation":1}},'
    echo '{"ph":"X","cat":"kernel","name":"k<script>alert(1)</script>\"&'\''>","pid":0,"tid":7,"ts":10,"dur":80,"args":{"correlation":1,"stream":7,"device":0}}'
    echo ',{"ph":"X","cat":"kernel","name":"a_long_name_'$(printf 'x%.0s' {1..60})'_end","pid":0,"tid":7,"ts":91,"dur":5,"args":{"correlation":1,"stream":7,"device":0}}'
    echo ']}'
} >names/rank0.json
"$SPECTER" analyze --full names --html names.html >/dev/null
python3 html_page.py names.html "k<script>alert(1)</script>\"&'>"
grep -o '<summary>a_long_name_x*[^<]*' names.html | head -n 1
grep -c '</summary>a_long_name_x*_end</details>' names.html >/dev/null && echo "the whole name"

# A file that cannot be written.
"$SPECTER" analyze --full "$dir" --html missing/out.html >/dev/null 2>err
echo "status $?"
tail -n 1 err

# The title of a recording without device times is its first finding, not a hang that is not there.
mkdir untimed
for file in "$ROOT"/tests/cli/analyze/data/two_ranks/*.jsonl; do
    sed 's/"timing":"[a-z]*"/"timing":"host"/g; s/"gpu_start_ns":[0-9]*,\?//g; s/"gpu_end_ns":[0-9]*,\?//g' "$file" >untimed/"${file##*/}"
done
"$SPECTER" analyze untimed --html untimed.html >/dev/null 2>&1
grep -o '<h1>[^<]*' untimed.html
