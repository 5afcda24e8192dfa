# SPDX-License-Identifier: MIT
# The documents agree with the tables in the code: synopses as in help; every rule, condition, metric, key of
# the workload card, export format and reader has its place.
type python3 >/dev/null || { echo "no python3"; exit 77; }
python3 - "$ROOT" "$SPECTER" <<'PY'
import glob, os, re, subprocess, sys
root, specter = sys.argv[1:]

def read(path):
    return open(os.path.join(root, path)).read()

def words(text):
    return re.sub(r"\s+", " ", text).strip()

# ---- synopses ----
compared = 0
for path in sorted(glob.glob(root + "/docs/*.md")):
    name = os.path.basename(path)[:-3]
    block = re.match(r"# .*\n\n((?:    .*\n)+)", open(path).read())
    if not block or not block[1].startswith("    specter " + name) or "..." in block[1].split("\n")[0][-4:]:
        continue
    shown = subprocess.run([specter, "help", name], capture_output=True, text=True).stdout
    usage = words(shown[len("usage:"):shown.index("\n\n")]).replace(" or: ", " ")
    if words(block[1]) != usage:
        print(f"docs/{name}.md: {words(block[1])}\n  help: {usage}")
    compared += 1
if compared < 5:
    print("only", compared, "synopses compared")

# ---- links to files ----
for path in glob.glob(root + "/*.md") + glob.glob(root + "/[!b]*/**/*.md", recursive=True):
    for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", open(path).read()):
        if not os.path.exists(os.path.join(os.path.dirname(path), link)):
            print(f"{os.path.relpath(path, root)}: no {link}")

# ---- tables ----
def table(path, define):
    """The first arguments of the X(...) of a table."""
    body = re.search(r"#define " + define + r"\(X\)((?:.*\\\n)*.*\n)", read(path))[1]
    return re.findall(r"\bX\((\w+)", body), body

def named(document, names, how="`%s`"):
    text = read(document)
    if not names:
        print("nothing to look for in", document)
    for name in names:
        if how % name not in text:
            print(f"{document} says nothing of {name}")

named("docs/analyze.md", table("src/report/findings.h", "RULES")[0])
named("docs/analyze.md", table("src/analysis/fail_on.h", "FAIL_ON_SHARES")[0])
named("docs/analyze.md", table("src/analysis/streams.h", "IDLE_CAUSES")[0])
named("docs/metrics.md", table("src/metrics/metrics.h", "METRICS")[0])
keys = re.findall(r"X\(\w+,\s*\"([^\"]+)\"", table("src/metrics/card.h", "CARD_FIELDS")[1].replace("\\\n", ""))
named("docs/metrics.md", [key.split(",")[0] for key in keys])
for name in "BENCH_RULES", "BENCH_FAULTS":
    named("docs/bench.md", table("src/bench/findings.h", name)[0])
named("docs/bench.md", table("src/bench/checks.h", "BENCH_CHECKS")[0])
formats = re.findall(r"X\(\w+, (\w+)", table("src/report/export.h", "EXPORT_FORMATS")[1])
named("docs/export.md", formats, "\n## %s\n")
readers = [r for r in table("src/trace/reader.h", "READERS")[0] if r not in ("jsonl", "nsysrep")]
named("docs/inputs.md", readers, "\n| %s |")
PY
