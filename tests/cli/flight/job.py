#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Flight Recorder dumps of a made job that stops: job.py FOLDER SPEC, SPEC in JSON.

Sixteen ranks, rank = stage * 4 + data * 2 + tensor: groups of two (tensor), of the four ranks of a
stage (expert), of a pipeline's four stages, and of all. Each host calls the operations of its
program, up to `ahead` of what has ended. A device runs what was called in order, but for sends,
which wait beside the others. Everything ends when its members have come to it. The job runs until
nothing moves any more; then each rank writes its dump, as torch's dump() does.

  stop     {"RANK": N}  the host makes no call behind its first N: it is dead
  blind    {"RANK": [N, M]}  the device fails: the rank sees none of its calls from N on end, but those
           before M end for the others
  skip     {"RANK": N}  the rank leaves call N out
  missing  [RANK, ...]  no dump is written
  active   true: only what has not ended is dumped, as newer versions of PyTorch can
  ring     so many calls are kept
  protocol of the pickle; 0: JSON
  steps, micro, ahead, first_id

On stdout: the ranks that others wait for and that wait for none, one line.
"""
import json
import pickle
import sys

T0 = 1748030000000000000
RANKS = 16


class Job:
    def __init__(self, spec):
        self.spec = spec
        self.ahead = spec.get("ahead", 8)
        self.groups = {"0": ("default_pg", list(range(RANKS)))}
        for i in range(8):
            self.groups[str(10 + i)] = ("TENSOR_MODEL_PARALLEL_GROUP", [2 * i, 2 * i + 1])
        for i in range(4):
            self.groups[str(20 + i)] = ("EXPERT_MODEL_PARALLEL_GROUP", list(range(4 * i, 4 * i + 4)))
            self.groups[str(30 + i)] = ("PIPELINE_MODEL_PARALLEL_GROUP", list(range(i, RANKS, 4)))
        self.programs = [self.program(r) for r in range(RANKS)]
        self.calls = [[] for _ in range(RANKS)]  # as they were made

    def stage(self, r, steps):
        """One micro-batch on the way there (steps 1) or back (-1)."""
        tp, ep, pp = str(10 + r // 2), str(20 + r // 4), str(30 + r % 4)
        place = r // 4
        before, behind = place - steps, place + steps
        ops = [("recv", pp, before)] if 0 <= before < 4 else []
        ops += [("_all_gather_base", tp), ("all_to_all", ep), ("all_to_all", ep),
                ("_reduce_scatter_base", tp)]
        return ops + ([("send", pp, behind)] if 0 <= behind < 4 else [])

    def program(self, r):
        ops = []
        for _ in range(self.spec.get("steps", 2)):
            for steps in (1, -1):
                for _ in range(self.spec.get("micro", 3)):
                    ops += self.stage(r, steps)
            ops += [("all_reduce", str(20 + r // 4)), ("all_reduce", "0")]
        skip = self.spec.get("skip", {}).get(str(r))
        if skip is not None:
            del ops[skip % len(ops)]
        return ops

    def call(self, r, now):
        i = len(self.calls[r])
        what, group = self.programs[r][i][:2]
        message = what in ("send", "recv")
        members = self.groups[group][1]
        seq = sum(c["group"] == group and not c["message"] for c in self.calls[r]) + (not message)
        p2p = sum(c["group"] == group and c["message"] for c in self.calls[r]) + message
        peer = self.programs[r][i][2] if message else None
        own = members.index(r)
        name = what
        if message:
            name = f"{what} {own}{'->' if what == 'send' else '<-'}{peer}"
        nth = sum(c["what"] == what and c["peer"] == peer and c["group"] == group
                  for c in self.calls[r])
        if message:
            ends = (own, peer) if what == "send" else (peer, own)
            key = (group, "message", ends, nth)
        else:
            key = (group, "collective", seq)
        self.calls[r].append({"what": what, "name": name, "group": group, "message": message,
                              "seq": seq, "p2p": p2p, "peer": peer, "key": key, "index": i,
                              "ended": False, "seen": True, "at": T0 + now * 1000000 + r * 1000})

    def at_front(self, r):
        """Calls of the rank that its device has come to."""
        front = []
        for c in self.calls[r]:
            if c["ended"]:
                continue
            front.append(c)
            if c["what"] != "send":
                break
        return front

    def members_of(self, c):
        group = self.groups[c["group"]][1]
        if not c["message"]:
            return group
        return [group[i] for i in c["key"][2]]

    def progress(self):
        moved = False
        fronts = {}
        for r in range(RANKS):
            blind = self.spec.get("blind", {}).get(str(r))
            for c in self.at_front(r):
                if blind is None or c["index"] < blind[1]:
                    fronts.setdefault(c["key"], {}).setdefault(r, []).append(c)
        for there in fronts.values():
            calls = [c for of_rank in there.values() for c in of_rank]
            if len({c["what"] for c in calls} - {"send", "recv"}) > 1:
                continue  # they called different things
            if sorted(there) != sorted(self.members_of(calls[0])):
                continue
            for r, of_rank in there.items():
                blind = self.spec.get("blind", {}).get(str(r))
                of_rank[0]["ended"] = moved = True
                of_rank[0]["seen"] = blind is None or of_rank[0]["index"] < blind[0]
        return moved

    def run(self):
        stop = self.spec.get("stop", {})
        for now in range(100000):
            moved = False
            for r in range(RANKS):
                open_calls = sum(not c["ended"] for c in self.calls[r])
                done = len(self.calls[r])
                if done < len(self.programs[r]) and open_calls < self.ahead and done < int(
                        stop.get(str(r), 1 << 30)):
                    self.call(r, now)
                    moved = True
            while self.progress():
                moved = True
            if not moved:
                return

    def blamed(self):
        """Dead hosts that came to their last call with all of it done; failed devices."""
        found = set()
        for r, n in self.spec.get("stop", {}).items():
            calls = self.calls[int(r)]
            if len(calls) == int(n) < len(self.programs[int(r)]) and all(c["ended"] for c in calls):
                found.add(int(r))
        for r in self.spec.get("blind", {}):
            if any(not c["seen"] for c in self.calls[int(r)]):
                found.add(int(r))
        found.update(int(r) for r in self.spec.get("skip", {}))
        return sorted(found)

    def dump(self, r):
        first_id = self.spec.get("first_id", 0)
        entries, ids = [], {g: i for i, g in enumerate(sorted(
            (g for g in self.groups if r in self.groups[g][1]), key=int))}
        config = {g: {"name": g, "desc": self.groups[g][0], "ranks": str(self.groups[g][1])}
                  for g in ids}
        status = {}
        for g, i in ids.items():
            own = [c for c in self.calls[r] if c["group"] == g]
            number = [c["p2p"] if c["message"] else c["seq"] for c in own]
            ended = [n for n, c in zip(number, own) if c["ended"] and c["seen"]]
            status[str(i)] = {"last_enqueued_collective": number[-1] if number else -1,
                              "last_started_collective": -1,
                              "last_completed_collective": ended[-1] if ended else -1}
        for c in self.calls[r]:
            ended = c["ended"] and c["seen"]
            if ended and self.spec.get("active"):
                continue
            entries.append({
                "record_id": first_id + c["index"], "pg_id": ids[c["group"]],
                "process_group": (c["group"], self.groups[c["group"]][0]),
                "collective_seq_id": c["seq"], "p2p_seq_id": c["p2p"], "op_id": c["seq"] + c["p2p"],
                "profiling_name": "nccl:" + c["name"], "time_created_ns": c["at"],
                "input_sizes": [[1024, 8]], "input_dtypes": ["BFloat16"],
                "output_sizes": [[1024, 8]], "output_dtypes": ["BFloat16"],
                "state": "completed" if ended else "scheduled",
                "time_discovered_started_ns": None,
                "time_discovered_completed_ns": c["at"] + 500000 if ended else None,
                "retired": ended, "timeout_ms": 600000 if c["what"] == "all_to_all" else 180000,
                "is_p2p": c["message"]})
        entries = entries[-self.spec.get("ring", 2000):]
        return {"version": "2.9", "pg_config": config, "pg_status": status, "entries": entries}


def main():
    folder, spec = sys.argv[1], json.loads(sys.argv[2])
    job = Job(spec)
    job.run()
    for r in range(RANKS):
        if r in spec.get("missing", []):
            continue
        with open(f"{folder}/_dump_{r}", "wb") as f:
            if spec.get("protocol", 2) == 0:
                f.write(json.dumps(job.dump(r)).encode())
            else:
                pickle.dump(job.dump(r), f, protocol=spec.get("protocol", 2))
    print(" ".join(str(r) for r in job.blamed()))


main()
