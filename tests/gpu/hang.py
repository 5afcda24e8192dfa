# SPDX-License-Identifier: MIT
"""Checks that analyze names the operation that a job hangs in, while it hangs; the job is killed afterwards.

    hang.py SPECTER FOLDER RANK NUMBER BYTES SECONDS -- COMMAND...

COMMAND records a job into FOLDER in which RANK leaves out the NUMBERth (from 0) AllReduce of so many bytes. Within
so many seconds after the hang began analyze must name the rank, the operation and its seq. When the
hang began is known from the trace: when the others called the AllReduce.
"""

import json
import os
import signal
import subprocess
import sys
import time

import traces
from figures import Figures

START_S = 120  # for the job to come as far as its hang


def waited_for(folder, rank, number, nbytes):
    """(seq, when it was called) of the AllReduce that is left out, as another rank called it, or None."""
    for records in traces.read(folder).values():
        init = traces.event(records, "init")
        if not init or init["rank"] == rank:
            continue
        alike = [o for o in traces.operations(records, "nccl") if o["op"] == "AllReduce" and o["bytes"] == nbytes]
        if len(alike) > number:
            hung = sorted(alike, key=lambda o: o["seq"])[number]
            return hung["seq"], init["real_ns"] / 1e9 + hung["host_us"] / 1e6
    return None


def hangs(specter, folder):
    done = subprocess.run([specter, "analyze", folder, "--json", "-"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["hangs"] if done.stdout else []


def watch(specter, folder, job, wanted, limit):
    """The first hang that is told and when, or None at the end of the time or of the job."""
    begun = time.monotonic()
    while time.monotonic() - begun < START_S + limit and job.poll() is None:
        found = wanted() and hangs(specter, folder)
        if found:
            return found[0], time.time()
        time.sleep(1)
    return None


def end(job):
    """Kills all processes of the job, of which none will ever answer."""
    status = job.poll()
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    return status


def main():
    if len(sys.argv) < 9 or sys.argv[7] != "--":
        sys.exit(__doc__)
    specter, folder, *numbers = sys.argv[1:7]
    rank, number, nbytes, limit = map(int, numbers)
    job = subprocess.Popen(sys.argv[8:], start_new_session=True)
    try:
        told = watch(specter, folder, job, lambda: waited_for(folder, rank, number, nbytes), limit)
    finally:
        status = end(job)
    seq, begun = waited_for(folder, rank, number, nbytes) or (None, None)
    figures = Figures()
    figures.equal("the job hung", status is None, True)
    hang, at = told or ({}, None)
    figures.claim("told after", at and at - begun, limit, "s")
    figures.equal("rank named", hang.get("ranks"), [rank])
    figures.equal("operation named", hang.get("op"), "AllReduce")
    figures.equal("seq named", hang.get("seq"), seq)
    figures.note("analyze: " + hang.get("text", "no hang"))
    figures.close()


if __name__ == "__main__":
    main()
