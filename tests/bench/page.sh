#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Measures the page of a large recording: 64 ranks x 10,000 operations in one step, as large as `analyze --html`
# writes one. First paint, and the longest frame while the timeline is zoomed in and out, and its CPU time; medians
# of five, in a headless Chromium without a GPU. BUILD: the build folder.
set -euo pipefail
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tests/cli/page
python3 -c 'import devtools, sys; sys.exit(devtools.find_browser() is None)' ||
    { echo "bench-page: no chromium (scripts/setup.sh --ci)" >&2; exit 1; }
cd "$WORK"
mkdir traces
python3 - <<'END'
# Products and, in between, AllReduces on another stream: in an order that does not repeat, so that all of it is one
# step, the same on all ranks, and with lengths that are all different.
import random
order = random.Random(1)
collective = [order.random() < 0.25 for _ in range(10000)]
for rank in range(64):
    draw, seq = random.Random(rank), 0
    lines = ['{"event":"init","version":1,"run":"bench","rank":%d,"world_size":64,"host":"h","mono_ns":1000,"real_ns":1000,'
             '"coverage":["nccl","cublas","deps","launches"],"gpus":[]}' % rank,
             '{"event":"comm","time_us":0,"comm":"c","comm_rank":%d,"comm_size":64,"device":0}' % rank]
    at = 0.0
    for i in range(10000):
        host = f'"device":0,"tid":0,"host_us":{at:.3f},"host_end_us":{at:.3f},"timing":"device"'
        if not collective[i]:
            length = 8 + 4 * draw.random()
            lines.append(f'{{"id":{i},"type":"cublas","op":"GemmEx","start_us":{at:.3f},"duration_us":{length:.3f},"m":4096,'
                         f'"n":{1024 * (1 + i % 5)},"k":4096,"batch":1,"dtype":"bf16","stream":1,{host}}}')
            at += length + draw.random()
        else:
            start, end = at, max(at + 2, (i + 1) * 12.5) + 20
            lines.append(f'{{"id":{i},"type":"nccl","op":"AllReduce","start_us":{start:.3f},"duration_us":{end - start:.3f},'
                         f'"bytes":16777216,"count":8388608,"dtype":"bf16","comm":"c","comm_rank":{rank},"comm_size":64,'
                         f'"seq":{seq},"stream":2,{host}}}')
            at, seq = end, seq + 1
    lines.append('{"event":"shutdown","time_us":%.1f,"total_ops":10000,"dropped":0}' % at)
    with open(f"traces/specter_trace_rank{rank}.jsonl", "w") as out:
        out.write("\n".join(lines) + "\n")
END
"$BUILD/specter" analyze traces --html page.html >/dev/null
python3 - <<'END'
import json, os, statistics
from devtools import Browser

FRAMES = """new Promise(done => {
    const canvas = document.querySelector('canvas'), area = canvas.getBoundingClientRect(), frames = [];
    let before = 0, n = 0;
    const frame = now => {
        if (before) frames.push(now - before);
        before = now;
        if (n === 120) return done(Math.max(...frames));
        const wheel = new WheelEvent('wheel', {ctrlKey: true, deltaY: n++ < 60 ? -60 : 60, cancelable: true,
            clientX: area.left + 700, clientY: area.top + 200});
        if (ZOOMED) canvas.dispatchEvent(wheel);
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
})"""
def cpu_ms(page):
    """CPU time of the page's main thread so far."""
    return 1000 * next(m["value"] for m in page.send("Performance.getMetrics")["metrics"] if m["name"] == "ThreadTime")


def longest_drawing(page):
    """The most CPU time of one frame while the timeline is zoomed from all of it to some 30 operations a row."""
    longest = 0
    page.send("Performance.enable")
    for n in range(40):
        before = cpu_ms(page)
        page.run("(() => { const t = document.querySelector('canvas').timeline, [row] = t.rows; "
                 f"t.view.to = t.view.from + row.reach[row.n - 1] * 0.85 ** {n}; t.draw(); }})()")
        page.frame()
        longest = max(longest, cpu_ms(page) - before)
    return longest


paints, idle, zooms, draws, operations, rows = [], [], [], [], 0, 0
for _ in range(5):
    with Browser() as browser:
        page = browser.open("page.html")
        page.wait("performance.getEntriesByName('first-contentful-paint').length > 0", 30)
        paints.append(page.run("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        page.run("document.querySelector('.timeline').scrollIntoView({block: 'center'}); 0")
        page.frame()
        operations = page.run("document.querySelector('canvas').timeline.rows.reduce((n, row) => n + row.n, 0)")
        rows = page.run("document.querySelector('canvas').timeline.rows.length")
        idle.append(page.run(FRAMES.replace("ZOOMED", "false")))
        zooms.append(page.run(FRAMES.replace("ZOOMED", "true")))
        draws.append(longest_drawing(page))
        assert not page.messages and not page.requests, page.messages + page.requests
size = os.path.getsize("page.html") / 2**20
print(f"{operations} operations in {rows} rows, page of {size:.1f} MiB, medians of five:\n")
print(f"  first paint                {statistics.median(paints):7.0f} ms   (at most 1000)")
print(f"  longest frame of a zoom    {statistics.median(zooms):7.1f} ms   (at most 50)")
print(f"  longest frame at rest      {statistics.median(idle):7.1f} ms")
print(f"  CPU time of a frame        {statistics.median(draws):7.1f} ms   the most in 40 steps of a zoom: on a busy machine the\n"
      "                                          frames above are longer, and this is what tells\n")
print(json.dumps({"operations": operations, "page_mib": round(size, 1), "first_paint_ms": round(statistics.median(paints)),
                  "zoom_frame_ms": round(statistics.median(zooms), 1),
                  "idle_frame_ms": round(statistics.median(idle), 1), "frame_cpu_ms": round(statistics.median(draws), 1)}))
END
