# Makes what `ncclras -f json` prints (NVIDIA/nccl, src/ras/client_support.cc): sourced, not run.
python3 -c '' 2>/dev/null || { echo "no python3"; exit 77; }

# snapshot BEHIND...: eight ranks on two nodes; those named have called one AllReduce less than the others. Ranks 4
# and 5 have a communicator of their own, of which rank 5 does not answer; rank 6 has an asynchronous error. With
# missing=5 in the environment it answers in none.
snapshot() {
    python3 - "$@" <<'P'
import json, os, sys

def member(rank, counts, number=None):
    names = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv")
    return {"rank": rank if number is None else number, "host": f"10.0.0.{1 + rank // 4}", "pid": 1000 + rank,
            "cuda_dev": rank % 4, "nvml_dev": rank % 4,
            "status": {"init_state": 0, "async_error": 6 if rank == 6 else 0, "finalize_called": False,
                       "destroy_flag": False, "abort_flag": False},
            "collective_counts": dict(zip(names, counts))}

behind = [int(rank) for rank in sys.argv[1:]]
world = [member(rank, (1, 0, 10, 0, 41 if rank in behind else 42, 7)) for rank in range(8)]
gone = int(os.environ.get("missing", -1))
world = [m for m in world if m["rank"] != gone]
lost = {"rank": 1, "host": "10.0.0.2", "pid": 1005, "cuda_dev": 1, "nvml_dev": 1,
        "status": {"unresponsive": True, "considered_dead": False}}
def comm(number, size, ranks, missing):
    return {"hash": hex(number), "secondary_hash": f"0x1:{hex(number + 1)}", "size": size, "ranks_count": len(ranks),
            "missing_ranks_count": len(missing), "ranks": ranks, "missing_ranks": missing}
print(json.dumps({"nccl_version": "2.28.9", "cuda_runtime_version": 13000, "cuda_driver_version": 13000,
                  "timestamp": "2026-05-17 10:20:30", "communicators_count": 2,
                  "communicators": [comm(0x1a2b, 8, world, [{**lost, "rank": 5}] if gone == 5 else []),
                                    comm(0x3c4d, 2, [member(4, (0, 0, 0, 0, 5, 0), 0)], [lost])],
                  "ras": {"collection_time_sec": 0.01, "timeouts_count": 0}}, indent=2))
P
}
