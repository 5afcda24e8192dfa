# Prints what `ncclras` prints of the state that `ncclras -f json` tells on stdin: its text form, with the argument -v
# the verbose one. Order, sets and the limits of lists are those of NVIDIA/nccl, src/ras/client_support.cc; the format
# strings are those of libnccl 2.28.9.
import collections, json, sys

NAMES = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv")
ERRORS = {1: "Unhandled CUDA error", 2: "System error", 3: "Internal error", 4: "Invalid argument", 5: "Invalid usage",
          6: "Remote process error"}
verbose = "-v" in sys.argv[1:]
state = json.load(sys.stdin)
out = sys.stdout.write


def listed(count, total=None):
    if count == 1:
        return True
    if verbose:
        return total is None or count < total * 0.5
    return count <= 10 and (total is None or count <= total * 0.25)


def where(m):
    gpu = m["cuda_dev"] if m["cuda_dev"] == m["nvml_dev"] else f"{m['cuda_dev']} (NVML {m['nvml_dev']})"
    return f"GPU {gpu} managed by process {m['pid']} on node {m['host']}"


def status(m):
    s = m["status"]
    if s.get("abort_flag"):
        return "ABORT"
    if s.get("finalize_called") or s.get("destroy_flag"):
        return "FINALIZE"
    return "RUNNING" if s["init_state"] == 0 else "INIT"


def several(count, one, many):
    return many if count > 1 else one


def silent(comm):
    return [m for m in comm["missing_ranks"] if m["status"]["unresponsive"]]


def errors_of(comm):
    return [m for m in comm["ranks"] if m["status"]["async_error"] not in (0, 7)]


def sets_of(comm, key):
    found = collections.defaultdict(list)
    for m in sorted(comm["ranks"], key=lambda m: m["rank"]):
        found[key(m)].append(m)
    return sorted(found.items(), key=lambda item: (-len(item[1]), -item[0] if isinstance(item[0], int) else 0))


def flags(comm):
    flags = []
    left = len(comm["missing_ranks"]) - len(silent(comm))
    if silent(comm):
        flags.append("INCOMPLETE")
    if errors_of(comm):
        flags.append("ERROR")
    if left or len({(status(m), *m["collective_counts"].values()) for m in comm["ranks"]}) > 1:
        flags.append("MISMATCH")
    return flags


def line(members, one, several, total=None):
    if len(members) > 1:
        out(f"  {len(members)} ranks {several}\n")
    for m in members if listed(len(members), total) else ():
        out(f"  Rank {m['rank']} " + (f"-- {where(m)}\n" if len(members) > 1 else f"{one} -- {where(m)}\n"))


everyone = [m for c in state["communicators"] for m in c["ranks"] + c["missing_ranks"]]
hosts = {m["host"] for m in everyone}
pids = {(m["host"], m["pid"]) for m in everyone}
out(f"NCCL version {state['nccl_version']} compiled with CUDA 13.0\n")
out(f"CUDA runtime version {state['cuda_runtime_version']}, driver version {state['cuda_driver_version']}\n\n")
out("Job summary\n===========\n\n")
out("  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)\n")
out("%7d  %9d  %11d  %9d  %7d\n" % (len(hosts), len(pids) // len(hosts), 1, len(pids), len(pids)))
out("\nCommunicators... (0.00s)\n=============\n\n")
out("Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n")
groups = collections.defaultdict(list)
for comm in state["communicators"]:
    nodes = len({m["host"] for m in comm["ranks"]})
    groups[-comm["size"], -nodes, max(map(status, comm["ranks"])), ",".join(flags(comm)) or "OK"].append(comm)
comms = []
for number, (key, members) in enumerate(sorted(groups.items())):
    gpus = {(m["host"], m["pid"], m["nvml_dev"]) for c in members for m in c["ranks"]}
    out("%5d  %8d  %8d  %8s  %8d  %8d  %8s  %6s\n" % (number, len(members), -key[1], -key[0] // -key[1], -key[0],
                                                     len(gpus), key[2], key[3]))
    comms += [(f"#{number}-{i} ({int(c['hash'], 16):016x})", c) for i, c in enumerate(members)]
out("\nErrors\n======\n\n")
dead = {(m["host"], m["pid"], m["cuda_dev"]) for m in everyone if m["status"].get("considered_dead")}
lost = {(m["host"], m["pid"], m["cuda_dev"]) for m in everyone if m["status"].get("unresponsive")} - dead
if lost:
    out(f"INCOMPLETE\n  Missing communicator data from {len(lost)} job process{several(len(lost), '', 'es')}\n")
    for host, pid, gpu in sorted(lost) if listed(len(lost)) else ():
        out(f"  Process {pid} on node {host} managing GPU {gpu}\n")
    out("\n")
if dead:
    out(f"DEAD\n  {len(dead)} job process{several(len(dead), ' is', 'es are')} considered dead (unreachable via the RAS "
        "network)\n")
    for host, pid, gpu in sorted(dead) if listed(len(dead)) else ():
        out(f"  Process {pid} on node {host} managing GPU {gpu}\n")
    out("\n")
for title, c in comms:
    missing = silent(c)
    if missing:
        out(f"{title} INCOMPLETE\n  Missing communicator data from {len(missing)} rank{several(len(missing), '', 's')}\n")
        for m in missing if listed(len(missing)) else ():
            out(f"  Rank {m['rank']} -- {where(m)}\n")
        out("\n")
    bad = errors_of(c)
    if bad:
        out(f"{title} ERROR\n  Asynchronous error{several(len(bad), '', 's')} on {len(bad)} "
            f"rank{several(len(bad), '', 's')}\n")
        for error, members in sets_of({"ranks": bad}, lambda m: m["status"]["async_error"]):
            line(members, f"reported {ERRORS[error]}", f"reported {ERRORS[error]}")
        out("\n")
out("Warnings\n========\n\n")
for title, c in comms:
    if "MISMATCH" not in flags(c):
        continue
    out(f"{title} MISMATCH\n")
    statuses = sets_of(c, status)
    left = [m for m in c["missing_ranks"] if not m["status"]["unresponsive"]]
    statuses += [("NOCOMM", left)] if left else []
    if len(statuses) > 1:
        out("  Communicator ranks have different status\n")
        for name, members in sorted(statuses, key=lambda item: -len(item[1])):
            line(members, f"has status {name}", f"have status {name}", c["size"])
    for name in NAMES:
        sets = sets_of(c, lambda m: m["collective_counts"][name])
        if len(sets) == 1:
            continue
        out(f"  Communicator ranks have different {name} operation counts\n")
        for count, members in sets:
            did = f"launched up to operation {count}" if count > 0 else "not launched any operations"
            line(members, f"has {did}", f"have {did}", c["size"])
        out("\n")
