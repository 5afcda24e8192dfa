# SPDX-License-Identifier: MIT
"""Tests of the module `specter` that the wheel has installed; run by the module_*.sh beside this file."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import specter

ROOT, BUILD = os.environ["ROOT"], os.environ["BUILD"]
TRAIN = [ROOT + "/examples/launch.sh", "-n", "2", BUILD + "/examples/train", "--tp", "2", "--iters", "3"]
TWO_RANKS = ROOT + "/tests/cli/replay/data/two_ranks"


def command(*words):
    """What the installed command prints, as JSON."""
    return json.loads(subprocess.run([specter.find_program(), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                     check=False).stdout)


def read(path):
    with open(path) as file:
        return file.read()


class Results(unittest.TestCase):
    def test_each_function_returns_what_its_command_prints(self):
        traces = TWO_RANKS
        self.assertEqual(specter.analyze(traces), command("analyze", traces, "--json", "-"))
        self.assertEqual(specter.replay(traces, scale=[1, 8], gpu="a100_sxm"),
                         command("replay", traces, "--scale", "1,8", "--gpu", "a100_sxm", "--json", "-"))
        self.assertEqual(specter.replay(traces, scale=1, straggler=["rank=0,slow=2", "rank=1,slow=3"])["scales"],
                         command("replay", traces, "--scale", "1", "--straggler", "rank=0,slow=2", "--straggler",
                                 "rank=1,slow=3", "--json", "-")["scales"])
        self.assertEqual(specter.compare(traces, ["copy", "copy2"], name=["a", "b"]),
                         command("compare", traces, "copy,copy2", "--name", "a,b", "--json", "-"))
        self.assertEqual(specter.run("doctor")["schema"], "specter.doctor/1")

    def test_predict_returns_a_list(self):
        one = specter.predict("gemm", m=1024, n=1024, k=1024)
        self.assertEqual(one, [command("predict", "gemm", "-m", "1024", "-n", "1024", "-k", "1024", "--json")])
        several = specter.predict("collective", op="all_reduce", bytes="1M:4M", ranks=[8, 16])
        self.assertEqual([(r["ranks"], r["bytes"]) for r in several],
                         [(ranks, size << 20) for ranks in (8, 16) for size in (1, 2, 4)])

    def test_a_grid_is_a_file_or_a_dict(self):
        grid = {"scales": [1, 2]}
        with open("grid.json", "w") as file:
            json.dump(grid, file)
        self.assertEqual(specter.sweep(grid, TWO_RANKS), specter.sweep("grid.json", TWO_RANKS))

    def test_metrics_that_cannot_be_told_are_a_warning(self):
        with self.assertWarns(specter.PartialResult):
            result = specter.metrics(TWO_RANKS, metric=["mfu", "iter_time"])
        self.assertEqual(result["schema"], "specter.metrics/1")

    def test_version(self):
        self.assertRegex(specter.version(), r"^\d+\.\d+\.\d+$")
        self.assertEqual(specter.__version__, specter.version())


class Errors(unittest.TestCase):
    def test_message_names_file_and_place(self):
        with open("bad.json", "w") as file:
            file.write('{"scales": [1, "x"]}')
        with self.assertRaisesRegex(specter.Error, r"bad\.json.*scales") as caught:
            specter.sweep("bad.json", TWO_RANKS)
        self.assertEqual(caught.exception.status, 3)

    def test_usage(self):
        with self.assertRaisesRegex(specter.Error, "--no-such") as caught:
            specter.analyze(TWO_RANKS, no_such=1)
        self.assertEqual(caught.exception.status, 2)

    def test_a_condition_that_holds_has_its_result(self):
        with self.assertRaisesRegex(specter.Error, "compute>0") as caught:
            specter.analyze(TWO_RANKS, fail_on="compute>0")
        self.assertEqual(caught.exception.status, 1)
        self.assertEqual(caught.exception.result["schema"], "specter.analyze/1")

    def test_no_program(self):
        os.environ["SPECTER_PROGRAM"] = "/nowhere/specter"
        try:
            with self.assertRaisesRegex(specter.Error, "/nowhere/specter"):
                specter.analyze(TWO_RANKS)
        finally:
            del os.environ["SPECTER_PROGRAM"]


class Recording(unittest.TestCase):
    def test_block_records_its_subprocesses_as_one_run(self):
        before = dict(os.environ)
        with specter.capture(output="traces", no_copies=True) as recording:
            subprocess.run(TRAIN, check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(dict(os.environ), before)
        result = recording.analyze()
        self.assertEqual((result["run"]["ranks"], result["run"]["format"]), (2, "specter"))
        self.assertEqual(result["run"]["id"], recording.environment["SPECTER_RUN"])
        self.assertFalse(result["coverage"]["memory"])

    def test_environment_is_put_back_after_an_exception(self):
        before = dict(os.environ)
        with self.assertRaises(KeyError):
            with specter.capture(output="unused"):
                self.assertIn("libspecter.so", os.environ["LD_PRELOAD"])
                raise KeyError
        self.assertEqual(dict(os.environ), before)

    def test_run_needs_no_block(self):
        recording = specter.capture(output="other")
        recording.run(TRAIN, check=True, stdout=subprocess.DEVNULL)
        self.assertNotIn("LD_PRELOAD", os.environ)
        self.assertEqual(specter.analyze("other")["run"]["ranks"], 2)

    def test_what_capture_refuses_is_an_error(self):
        with self.assertRaisesRegex(specter.Error, "/proc/self/none"):
            specter.capture(output="/proc/self/none")

    def test_marks_reach_the_trace(self):
        program = ("import ctypes, specter\n"
                   "ctypes.CDLL('libnccl.so.2').ncclGetVersion(ctypes.byref(ctypes.c_int()))\n"
                   "nccl = ctypes.CDLL('libnccl.so.2')\n"
                   "comm, device = ctypes.c_void_p(), (ctypes.c_int * 1)(0)\n"
                   "assert nccl.ncclCommInitAll(ctypes.byref(comm), 1, device) == 0\n"
                   "specter.iteration('step'); specter.mark('here')\n"
                   "with specter.span('forward'): pass\n"
                   "nccl.ncclCommDestroy(comm)\n")
        specter.capture(output="marked").run([sys.executable, "-c", program], check=True)
        text = "".join(read(os.path.join("marked", name)) for name in os.listdir("marked"))
        for name in "step", "here", "forward":
            self.assertIn('"%s"' % name, text)
        specter.mark("not recorded")  # without effect


class Tables(unittest.TestCase):
    def test_names_of_tables(self):
        names = specter.tables(specter.analyze(TWO_RANKS))
        self.assertEqual((names["ranks"], names["run.clock_domains"]), (2, 1))
        self.assertIn("comparisons.0.step", specter.tables(specter.compare(TWO_RANKS, "copy")))

    def test_no_such_table(self):
        with self.assertRaisesRegex(KeyError, "no table 'rank'.*ranks"):
            specter.frame(specter.analyze(TWO_RANKS), "rank")
        with self.assertRaises(ValueError):
            specter.frame(specter.analyze(TWO_RANKS), "ranks", kind="numpy")


shutil.copytree(TWO_RANKS, "copy")
shutil.copytree(TWO_RANKS, "copy2")
unittest.main()
