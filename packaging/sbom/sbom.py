#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the parts of a build as SPDX 2.3 JSON.

    packaging/sbom/sbom.py TREE VERSION [PROGRAM]

TREE is what `make install` installed: each of its files with its SHA-256, the program's own package, and each library
that `specter --version` names with the version that is compiled in or linked (PROGRAM's, where TREE is for another
processor); one whose license is in TREE is inside of the program. The bytes depend on these alone, and on
$SOURCE_DATE_EPOCH.
"""
import hashlib
import json
import os
import subprocess
import sys
import time

LICENSES = {"cJSON": "MIT", "zlib": "Zlib", "SQLite": "blessing", "zstd": "BSD-3-Clause", "libyaml": "MIT",
            "libxlsxwriter": "BSD-2-Clause", "glibc": "LGPL-2.1-or-later",
            "libgcc": "GPL-3.0-or-later WITH GCC-exception-3.1"}
TEXTS = "share/doc/specter/licenses"  # in TREE: of what is inside of the programs, as scripts/release.sh puts it there


def digest(path, kind):
    with open(path, "rb") as file:
        return hashlib.new(kind, file.read()).hexdigest()


def files_of(tree):
    for base, folders, names in os.walk(tree):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            yield os.path.relpath(path, tree), path


def package(name, version, license_id, analyzed):
    return {"SPDXID": "SPDXRef-" + name, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "licenseConcluded": license_id, "licenseDeclared": license_id, "copyrightText": "NOASSERTION",
            "filesAnalyzed": analyzed}


def compiler_parts(tree):
    """NAME-VERSION among the texts: what the compiler added."""
    if os.path.isdir(os.path.join(tree, TEXTS)):
        for text in sorted(os.listdir(os.path.join(tree, TEXTS))):
            name, dash, version = text.partition("-")
            if dash:
                yield package(name, version, LICENSES[name], False)


def libraries(program):
    text = subprocess.run([program, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
    for line in text.splitlines():
        name, _, version = line.partition(" ")
        if name in LICENSES and version[:1].isdigit():
            yield package(name, version, LICENSES[name], False)


def relation_to(tree, library):
    name, version = library["name"], library["versionInfo"]
    texts = [os.path.join(tree, TEXTS, text) for text in (name, f"{name}-{version}")]
    return "STATIC_LINK" if any(map(os.path.exists, texts)) else "DEPENDS_ON"


def document(tree, version, program):
    files = [{"SPDXID": f"SPDXRef-File-{number}", "fileName": "./" + name, "licenseConcluded": "MIT",
              "copyrightText": "NOASSERTION",
              "checksums": [{"algorithm": "SHA1", "checksumValue": digest(path, "sha1")},
                            {"algorithm": "SHA256", "checksumValue": digest(path, "sha256")}]}
             for number, (name, path) in enumerate(files_of(tree))]
    own = package("specter", version, "MIT", True)
    sums = "".join(sorted(file["checksums"][0]["checksumValue"] for file in files))
    code = hashlib.sha1(sums.encode()).hexdigest()
    own["packageVerificationCode"] = {"packageVerificationCodeValue": code}
    linked = list(libraries(program)) + list(compiler_parts(tree))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "CONTAINS", file["SPDXID"]) for file in files]
    relations += [(own["SPDXID"], relation_to(tree, library), library["SPDXID"]) for library in linked]
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", 0))))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"specter-{version}", "documentNamespace": f"urn:specter:{version}:{code}",
            "creationInfo": {"created": stamp, "creators": ["Tool: packaging/sbom/sbom.py"]},
            "packages": [own] + linked, "files": files,
            "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                              for a, kind, b in relations]}


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    tree, version = sys.argv[1:3]
    program = sys.argv[3] if len(sys.argv) == 4 else os.path.join(tree, "bin", "specter")
    json.dump(document(tree, version, program), sys.stdout, indent=1)
    print()


main()
