# SPDX-License-Identifier: MIT
# Licenses of all that is linked into the programs of `make release` travel in tarball and wheel, and the SPDX list
# names the same, with their versions. No function of the C library is inside instead of its own.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
shopt -s nullglob
tarballs=("$ROOT"/build/release/specter-*-linux-*.tar.gz)
wheels=("$ROOT"/build/release/*-manylinux_*.whl)
[[ ${#tarballs[@]} != 0 ]] || { echo "no tarball of make release"; exit 77; }
[[ ${#tarballs[@]} == "${#wheels[@]}" ]] || { echo "tarballs and wheels of several releases"; exit 77; }
for tarball in "${tarballs[@]}"; do
    tar -xzf "$tarball"
    name=$(basename "$tarball" .tar.gz)
    ! nm -D --defined-only "$name/bin/specter" | grep -w 'memcpy\|exp\|log' || echo "$name: functions of its own"
    python3 - "$name" "${tarball%.tar.gz}.spdx.json" "$ROOT"/build/release/*-manylinux_*_"${name##*-linux-}.whl" <<'PY'
import json, os, sys, zipfile
tree, spdx, wheel = sys.argv[1:]
texts = os.path.join(tree, "share/doc/specter/licenses")
document = json.load(open(spdx))
linked = {r["relatedSpdxElement"] for r in document["relationships"] if r["relationshipType"] == "STATIC_LINK"}
listed = {p["name"] for p in document["packages"] if p["SPDXID"] in linked}
named = {text.split("-")[0] for text in os.listdir(texts)}
needed = {"cJSON", "zlib", "SQLite", "zstd", "libyaml", "libxlsxwriter", "libgcc", "glibc"}
if listed != needed or named != needed or len(document["packages"]) != len(needed) + 1:
    print(tree, "listed:", listed, "licenses:", named)
for text in os.listdir(texts):
    if os.path.getsize(os.path.join(texts, text)) < 1000:
        print(tree, text, "is no license")
with zipfile.ZipFile(wheel) as archive:
    inside = {n.split("/licenses/")[1]: archive.read(n) for n in archive.namelist() if "/licenses/" in n}
    want = {text: open(os.path.join(texts, text), "rb").read() for text in os.listdir(texts)}
    want["LICENSE"] = open(os.path.join(tree, "LICENSE"), "rb").read()
    if inside != want:
        print(wheel, set(inside) ^ set(want))
    for name in archive.namelist():
        if "/share/doc/specter/licenses/" in name:
            print("twice:", name)
PY
done
