# SPDX-License-Identifier: MIT
# The pictures of README.md are made of what a build prints: their sizes, and that both have something on them. No
# recording: one line.
. "$ROOT"/tests/cli/page/common.bash
mkdir -p build/demo
ln -s "$SPECTER" build/specter
BUILD=build "$ROOT"/scripts/pictures.py out 2>&1 | sed "s|$PWD|.|"
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks build/demo/traces
"$SPECTER" analyze build/demo/traces --html build/demo/analyze.html >/dev/null 2>&1
BUILD=build "$ROOT"/scripts/pictures.py out || echo "status $?"
python3 - <<'END'
import struct
for name in ("terminal", "page"):
    with open(f"out/{name}.png", "rb") as png:
        data = png.read()
    width, height = struct.unpack(">II", data[16:24])
    if name == "terminal":  # as wide as 80 columns of text at most, one line a row of 19
        print(name, 300 < width < 800, (height - 32) % 19 == 0, len(data) > 20000)
    else:
        print(name, width, height, len(data) > 30000)
END
