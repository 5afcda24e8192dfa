# SPDX-License-Identifier: MIT
# Prints the contents of a Perfetto trace, by the field numbers of its public schema: tracks with their processes,
# slices with times and names, flows. Checks nesting on the way.
import sys

import wire

INTERNED = {1: "category", 2: "name", 3: "key"}


def read(path):
    names, tracks, open_slices, slices, flows, counters = {}, {}, {}, [], {}, {}
    for packet in wire.fields(open(path, "rb").read())[1]:
        p = wire.fields(packet)
        assert p[10] == [1], "one sequence"
        for field, texts in wire.fields(p.get(12, [b""])[0]).items():
            for text in texts:
                t = wire.fields(text)
                names[field, t[1][0]] = t[2][0].decode()
        if 60 in p:
            t = wire.fields(p[60][0])
            name = t[2][0] if 2 in t else wire.fields(t[3][0])[6][0]
            tracks[t[1][0]] = (name.decode(), t.get(5, [None])[0])
            if 8 in t:
                counters[t[1][0]] = []
            assert t.get(5, [None])[0] is None or t[5][0] in tracks, "parents come first"
        if 11 in p:
            e, at = wire.fields(p[11][0]), p[8][0]
            stack = open_slices.setdefault(e[11][0], [])
            if e[9] == [4]:
                assert e[11][0] in counters and e[11][0] in tracks
                counters[e[11][0]].append("%d:%d" % (at, e[30][0]))
            elif e[9] == [1]:
                assert e[11][0] in tracks, "a track is described before it is used"
                args = {}
                for note in e.get(4, []):
                    n = wire.fields(note)
                    args[names[3, n[1][0]]] = n[6][0].decode() if 6 in n else n[4][0]
                stack.append([e[11][0], at, names[2, e[10][0]], names[1, e[3][0]], args])
                for flow in e.get(47, []) + e.get(48, []):
                    flows.setdefault(flow, []).append(stack[-1])
            else:
                s = stack.pop()
                assert at >= s[1]
                slices.append(s + [at - s[1]])
    assert not any(open_slices.values()), "every slice ends"
    return tracks, slices, flows, counters


if __name__ == "__main__":
    tracks, slices, flows, counters = read(sys.argv[1])
    for uuid, (name, parent) in tracks.items():
        print("%s%s%s" % ("  " if parent else "", name, " ".join([""] + counters.get(uuid, []))))
        for s in sorted((s for s in slices if s[0] == uuid), key=lambda s: (s[1], -s[5])):
            print("    %d +%d %s [%s] %s" % (s[1], s[5], s[2], s[3],
                  " ".join("%s=%s" % kv for kv in sorted(s[4].items()))))
    for flow in sorted(flows):
        print("flow:", ", ".join("%s at %d" % (tracks[tracks[s[0]][1]][0], s[1]) for s in flows[flow]))
