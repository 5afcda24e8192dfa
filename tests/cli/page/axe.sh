# SPDX-License-Identifier: MIT
# axe-core finds nothing serious in the pages, in light and dark, with all groups open.
. "$ROOT"/tests/cli/page/common.bash
export AXE
AXE=${AXE:-$(python3 -c 'import axe_core_python, os; print(os.path.join(os.path.dirname(axe_core_python.__file__), "axe.min.js"))' 2>/dev/null)}
[[ -e $AXE ]] || { echo "no axe-core (pip install axe-core-python, or AXE=axe.min.js)"; exit 77; }
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze traces --html analyze.html >/dev/null 2>&1
"$SPECTER" replay traces --gpu a100_sxm --scale 1,4 --html replay.html >/dev/null 2>&1
cp -r traces other
"$SPECTER" compare traces other --html compare.html >/dev/null 2>&1
python3 - <<'END'
import os
from devtools import Browser
axe = open(os.environ["AXE"], encoding="utf-8").read()
with Browser() as browser:
    for name in ("analyze", "replay", "compare"):
        for dark in (False, True):
            page = browser.open(name + ".html", dark=dark)
            page.run("document.querySelectorAll('.group').forEach(group => { group.open = true; }); 0")
            page.run(axe + "; 0")
            result = page.run("axe.run(document).then(r => ({passes: r.passes.length, violations: "
                              "r.violations.map(v => [v.impact, v.id, v.nodes[0].html.slice(0, 200)])}))")
            serious = [v for v in result["violations"] if v[0] in ("serious", "critical")]
            print(name, "dark" if dark else "light", "nothing serious" if not serious and result["passes"] > 10 else result)
END
