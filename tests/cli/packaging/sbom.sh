# The SPDX list names every file of the installation with its checksum, and every library that --version names; the
# RPM specification lists every file, too.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
[[ -x $BUILD/dist/stage/bin/specter ]] || { echo "no build/dist/stage"; exit 77; }
"$ROOT/packaging/sbom/sbom.py" "$BUILD/dist/stage" 1.2.3 >sbom.json
python3 - "$BUILD/dist/stage" "$SPECTER" <<'PY'
import hashlib, json, os, re, subprocess, sys
tree, specter = sys.argv[1:]
doc = json.load(open("sbom.json"))
listed = {f["fileName"][2:]: {c["algorithm"]: c["checksumValue"] for c in f["checksums"]} for f in doc["files"]}
for base, _, names in os.walk(tree):
    for name in names:
        path = os.path.join(base, name)
        sums = listed.pop(os.path.relpath(path, tree), None)
        if sums is None or sums["SHA256"] != hashlib.sha256(open(path, "rb").read()).hexdigest():
            print(path, sums)
if listed:
    print("not there:", listed)
version = subprocess.run([specter, "--version"], stdout=subprocess.PIPE).stdout.decode()
linked = set(re.findall(r"^(\w+ [0-9.]+)$", version, re.M)) - {"specter " + version.split()[1]}
named = {f"{p['name']} {p['versionInfo']}" for p in doc["packages"][1:]}
if not linked or linked != named:
    print(linked, named)
ids = [x["SPDXID"] for x in doc["packages"] + doc["files"]] + ["SPDXRef-DOCUMENT"]
for relation in doc["relationships"]:
    if {relation["spdxElementId"], relation["relatedSpdxElement"]} - set(ids):
        print("relation to nothing:", relation)
if len(ids) != len(set(ids)):
    print("an id twice")
PY
