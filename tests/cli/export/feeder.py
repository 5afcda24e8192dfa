# SPDX-License-Identifier: MIT
# Runs the Chakra execution traces of a folder as a simulator's feeder would: a node is issued when what it
# depends on is done; computation takes its duration; a collective begins when all members of its group
# have issued it, a message when both ends have, and lasts as long as its shortest end. Knows only
# Chakra's format. Prints what a step takes, in us: from the end of the first to the end of the last, on
# the rank that takes longest.
import collections
import glob
import json
import sys

import wire

COMP, SEND, RECV, COLL = 4, 5, 6, 7
TEXT = 29


class Node:
    def __init__(self, rank, message):
        f = wire.fields(message)
        self.rank, self.id, self.type = rank, f[1][0], f[3][0]
        self.us = f.get(7, [0])[0]
        self.deps = f.get(5, []) + f.get(4, [])
        self.attr = {}
        for attr in f.get(10, []):
            a = wire.fields(attr)
            name = a.pop(1)[0].decode()
            (field, value), = a.items()
            self.attr[name] = value[0].decode() if field == TEXT else value[0]
        self.missing, self.ready, self.end, self.behind = len(self.deps), 0, None, []


def read(path):
    messages = list(wire.delimited(open(path, "rb").read()))
    rank = next(wire.fields(a)[9][0] for a in wire.fields(messages[0])[2] if wire.fields(a)[1] == [b"rank"])
    nodes = [Node(rank, m) for m in messages[1:]]
    by_id = {n.id: n for n in nodes}
    for n in nodes:
        for d in n.deps:
            by_id[d].behind.append(n)
    return rank, nodes


class Feeder:
    def __init__(self, folder):
        self.groups = json.load(open(folder + "/comm_groups.json"))
        self.nodes = dict(read(p) for p in glob.glob(folder + "/*.et"))
        self.meetings = collections.defaultdict(list)
        self.numbered = {}
        for nodes in self.nodes.values():  # the n-th of a group on a rank is the n-th on all
            counts = collections.Counter()
            for n in nodes:
                if n.type == COMP:
                    continue
                key = self.key(n)
                self.numbered[n.rank, n.id] = key + (counts[key, n.type],)
                counts[key, n.type] += 1

    def key(self, n):
        if n.type == COLL:
            return ("group", n.attr["pg_name"])
        assert n.attr["comm_src"] != n.attr["comm_dst"], "a message to oneself"
        return ("message", n.attr["comm_src"], n.attr["comm_dst"], n.attr["comm_tag"])

    def finish(self, n, end):
        n.end = end
        for next_ in n.behind:
            next_.ready = max(next_.ready, end)
            next_.missing -= 1
            if next_.missing == 0:
                self.runnable.append(next_)

    def issue(self, n):
        if n.type == COMP:
            return self.finish(n, n.ready + n.us)
        key = self.numbered[n.rank, n.id]
        met = self.meetings[key]
        met.append(n)
        if len(met) == (len(self.groups[key[1]]) if n.type == COLL else 2):
            end = max(m.ready for m in met) + min(m.us for m in met)
            for m in met:
                self.finish(m, end)

    def run(self):
        every = [n for nodes in self.nodes.values() for n in nodes]
        self.runnable = [n for n in every if n.missing == 0]
        while self.runnable:
            self.issue(self.runnable.pop())
        stuck = [(n.rank, n.id) for n in every if n.end is None]
        assert not stuck, "%d nodes never ran, first %s" % (len(stuck), stuck[0])

    def step_us(self, nodes):
        ends = {}
        for n in nodes:
            if "step" in n.attr and not n.attr["is_cpu_op"]:
                step = n.attr["step"]
                ends[step] = max(ends.get(step, 0), n.end)
        return (ends[max(ends)] - ends[min(ends)]) / (max(ends) - min(ends))


if __name__ == "__main__":
    feeder = Feeder(sys.argv[1])
    feeder.run()
    print("%.3f" % max(feeder.step_us(nodes) for nodes in feeder.nodes.values()))
