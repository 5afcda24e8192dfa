# SPDX-License-Identifier: MIT
# A Chakra execution trace as text, by the field numbers of its public schema; then run: every node
# starts when what it depends on has ended. Prints when the last ends.
import sys

import wire

KINDS = {4: "COMP", 5: "SEND", 6: "RECV", 7: "COLL"}


def attributes(node):
    found = {}
    for attr in node.get(10, []):
        a = wire.fields(attr)
        name = a.pop(1)[0].decode()
        (field, value), = a.items()
        found[name] = value[0].decode() if field == 29 else value[0]
    return found


def main(path, show):
    messages = list(wire.delimited(open(path, "rb").read()))
    meta = wire.fields(messages[0])
    assert meta[1] == [b"0.0.4"]
    ends = {}
    for at, message in enumerate(messages[1:]):
        n = wire.fields(message)
        assert n[1] == [at], "ids count"
        a = attributes(n)
        deps = n.get(5, [])
        assert all(d < at for d in deps), "no circles"
        begin = max([ends[d] for d in deps], default=0)
        ends[at] = begin + a["duration_ns"]
        assert abs(n.get(7, [0])[0] * 1000 - a["duration_ns"]) <= 1000
        if show:
            print("%d %s %s deps=%s start=%d dur=%d %s" % (at, KINDS[n[3][0]], n[2][0].decode(), deps,
                  n.get(6, [0])[0], n.get(7, [0])[0],
                  " ".join("%s=%s" % kv for kv in sorted(a.items()))))
    return max(ends.values())


if __name__ == "__main__":
    print("runs for %.3f us" % (main(sys.argv[1], len(sys.argv) < 3) / 1000))
