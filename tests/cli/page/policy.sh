# SPDX-License-Identifier: MIT
# The one script that a page may run is the one that is in it; it is small, and no address is in the page.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze traces --html analyze.html >/dev/null 2>&1
"$SPECTER" replay traces --gpu a100_sxm --html replay.html >/dev/null 2>err
sed 's/, .*//' err | grep wrote
python3 - <<'END'
import base64, hashlib, re
for name in ("analyze", "replay"):
    page = open(name + ".html", encoding="utf-8").read()
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy content="([^"]*)"', page).group(1)
    print(name, len(scripts), "script,", "its hash is in the policy" if f"script-src 'sha256-{digest}'" in policy else policy)
    print("default-src 'none'" in policy, len(scripts[0].encode()) < 28000, not re.search(r"https?:|url\(|@import|<link|src=", page))
END
# A file is said to be written, with its size; a device is not.
"$SPECTER" analyze traces --html page.html 2>&1 >/dev/null | grep wrote | sed 's/[0-9.]* KiB/N KiB/'
"$SPECTER" analyze traces --html /dev/null 2>&1 >/dev/null | grep wrote
exit 0
