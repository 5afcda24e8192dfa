#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A wheel of what `make install` has put into a folder, and of the module beside this file.

    packaging/python/wheel.py TREE VERSION PLATFORM FOLDER     prints the path of FOLDER/specter-VERSION-...PLATFORM.whl

TREE has bin/, lib/, share/ and include/ as below a prefix. No build back end is needed, and nothing is compiled. The
bytes depend on the files alone: names are sorted, and the time is $SOURCE_DATE_EPOCH, else that of the first ZIP.
"""
import base64
import hashlib
import os
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FIRST_ZIP = 315532800  # 1980-01-01

METADATA = """\
Metadata-Version: 2.1
Name: specter
Version: {version}
Summary: Records, analyzes and predicts GPU training jobs: the specter command and a module around it
License: MIT
Requires-Python: >=3.8
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Provides-Extra: polars
Requires-Dist: polars; extra == "polars"
Provides-Extra: pyarrow
Requires-Dist: pyarrow; extra == "pyarrow"
Description-Content-Type: text/markdown

"""
WHEEL = """\
Wheel-Version: 1.0
Generator: specter
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""


def files_below(folder):
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            yield os.path.relpath(path, folder), path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def members(tree, version, platform):
    """(name in the wheel, bytes, mode) of all but RECORD."""
    info, data, licenses = f"specter-{version}.dist-info", f"specter-{version}.data", "share/doc/specter/licenses/"
    for name, path in files_below(os.path.join(HERE, "specter")):
        if "__pycache__" not in name:
            yield "specter/" + name, read(path), 0o644
    for name, path in files_below(tree):
        if name.startswith(licenses):
            where = f"{info}/licenses/{name[len(licenses):]}"
        elif name.startswith("bin/"):
            where = f"{data}/scripts/{name[4:]}"
        else:
            where = f"{data}/data/{name}"
        yield where, read(path), os.stat(path).st_mode & 0o777
    readme = read(os.path.join(ROOT, "docs", "python.md"))
    yield info + "/METADATA", METADATA.format(version=version).encode() + readme, 0o644
    yield info + "/WHEEL", WHEEL.format(platform=platform).encode(), 0o644
    yield info + "/licenses/LICENSE", read(os.path.join(ROOT, "LICENSE")), 0o644


def write(path, entries):
    stamp = time.gmtime(max(FIRST_ZIP, int(os.environ.get("SOURCE_DATE_EPOCH", FIRST_ZIP))))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, content, mode in entries:
            entry = zipfile.ZipInfo(name, stamp)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: the mode counts
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, content)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    tree, version, platform, folder = sys.argv[1:]
    if not os.path.exists(os.path.join(tree, "bin", "specter")):
        sys.exit(f"wheel: no bin/specter in '{tree}'; `make install DESTDIR=... prefix=` puts it there")
    entries = sorted(members(tree, version, platform))
    record = "".join(
        "{},sha256={},{}\n".format(
            name, base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode(), len(content))
        for name, content, _ in entries)
    name = f"specter-{version}.dist-info/RECORD"
    path = os.path.join(folder, f"specter-{version}-py3-none-{platform}.whl")
    os.makedirs(folder, exist_ok=True)
    write(path, entries + [(name, (record + name + ",,\n").encode(), 0o644)])
    print(path)


main()
