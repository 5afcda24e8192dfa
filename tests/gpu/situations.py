# SPDX-License-Identifier: MIT
"""Checks the trace of a situation of api.py.

    situations.py SITUATION FOLDER
"""

import collections
import sys

import traces
from figures import Figures

# Products in the one file of the folder, how many of them the device must have timed, on how many streams (None:
# a driver may give out the same handle again, after a context has gone with all that is in it), and whether the process
# came to its exit.
Expected = collections.namedtuple("Expected", "products timed streams closed", defaults=(1, True))

EXPECTED = {
    "contexts": Expected(5, 4, None),  # the last context was gone before its events could be asked
    "reset": Expected(3, None, None),  # so were all of these
    "exit": Expected(20, 20),
    "os_exit": Expected(20, 20, closed=False),
    "sigterm": Expected(20, 20, closed=False),
    "exception": Expected(20, 20),
    "fork": Expected(3, 3),
    "spawn": Expected(2, 2),
    "threads": Expected(20, 20, 4),
    "per_thread": Expected(10, 10, 2),
}


def main():
    name, folder = sys.argv[1:]
    if name not in EXPECTED:
        return
    figures, expected, files = Figures(), EXPECTED[name], traces.read(folder)
    figures.claim(f"{name}: files beside the process's own", abs(len(files) - 1), limit=0, detail=True)
    for records in files.values():
        products = traces.operations(records, "cublas")
        timed = sum(o["timing"] == "device" for o in products)
        end = traces.shutdown(records)
        figures.claim(f"{name}: products that are not in the trace", abs(expected.products - len(products)), limit=0)
        figures.claim(f"{name}: products timed by the device", timed, limit=expected.timed, at_least=True)
        if expected.streams is not None:
            streams = len({o["stream"] for o in products})
            off = abs(streams - expected.streams)
            figures.claim(f"{name}: streams more or less than used", off, limit=0, detail=True)
        if expected.closed:
            figures.claim(f"{name}: records dropped", end and end["dropped"], limit=0, detail=True)
        else:
            closed = int(end is not None)
            figures.claim(f"{name}: closing records of a process without exit", closed, limit=0, detail=True)
    figures.close()


if __name__ == "__main__":
    main()
