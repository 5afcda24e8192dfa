# SPDX-License-Identifier: MIT
"""What the GPU suite runs on, for the report: `machine.py ROOT BUILD` prints one JSON object.

    {"gpu": name, "date": day, "standin": whether the driver is that of tests/emu, "facts": [[what, value], ...]}

What cannot be found out is left out, and nothing names the host.
"""

import ctypes
import datetime
import json
import os
import platform
import re
import subprocess
import sys

# What nvidia-smi is asked for, and how the report calls it.
GPU_FACTS = [
    ("driver_version", "driver"),
    ("vbios_version", "VBIOS"),
    ("memory.total", "GPU memory"),
    ("clocks.sm", "SM clock as found"),
    ("clocks.max.sm", "SM clock at most"),
    ("clocks.mem", "memory clock as found"),
    ("clocks.max.mem", "memory clock at most"),
    ("power.draw", "power as found"),
    ("power.limit", "power limit"),
    ("power.default_limit", "power limit by default"),
    ("temperature.gpu", "temperature as found (°C)"),
    ("persistence_mode", "persistence mode"),
    ("compute_mode", "compute mode"),
    ("mig.mode.current", "MIG"),
    ("ecc.mode.current", "ECC"),
    ("pcie.link.gen.max", "PCIe generation"),
    ("pcie.link.width.max", "PCIe lanes"),
]

# Asked of a Python of its own: PyTorch loads the CUDA libraries, whose versions are then asked of themselves.
PYTORCH = """
import ctypes, torch
print("PyTorch", torch.__version__)
print("CUDA of PyTorch", torch.version.cuda)
if torch.distributed.is_nccl_available():
    print("NCCL", ".".join(map(str, torch.cuda.nccl.version())))
try:
    print("cuDNN", torch.backends.cudnn.version())
except Exception: pass
major = torch.version.cuda.split(".")[0]
try:
    ask = ctypes.CDLL(f"libcublasLt.so.{major}").cublasLtGetVersion
    ask.restype = ctypes.c_size_t
    v = ask()
    print("cuBLAS", f"{v // 10000}.{v // 100 % 100}.{v % 100}")
except Exception: pass
"""


def output(*command):
    """What a command prints, or nothing where there is no such command or it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as text:
            return text.read().strip()
    except OSError:
        return ""


def smi(fields):
    """Values of the first GPU, by field; one field that is not known spoils no other."""
    line = output("nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader").partition("\n")[0]
    values = [v.strip() for v in line.split(",")]
    if len(values) == len(fields):
        return dict(zip(fields, values))
    if len(fields) == 1:
        return {}
    return {k: v for field in fields for k, v in smi([field]).items()}


def gpu_facts():
    """The GPU's name and what nvidia-smi says of it."""
    known = smi(["name"] + [field for field, _ in GPU_FACTS])
    facts = [(what, known.get(field, "")) for field, what in GPU_FACTS]
    return known.get("name", ""), [(what, v) for what, v in facts if v and "N/A" not in v and "Not Supp" not in v]


def match(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1).strip() if found else ""


def surroundings():
    """Virtual machine or container, as far as the kernel tells."""
    found = output("systemd-detect-virt")
    if found and found != "none":
        return found
    if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
        return "a container"
    if "gVisor" in output("dmesg"):
        return "gVisor"
    product = " ".join(filter(None, (read("/sys/class/dmi/id/" + f) for f in ("sys_vendor", "product_name"))))
    guest = re.search(r"^flags.*\bhypervisor\b", read("/proc/cpuinfo"), re.MULTILINE)
    return " ".join(filter(None, ("a virtual machine" if guest else "", f"({product})" if product else "")))


def host_facts():
    cpuinfo, memory = read("/proc/cpuinfo"), match(r"^MemTotal:\s*(\d+)", read("/proc/meminfo"))
    cores = len(os.sched_getaffinity(0))
    model = match(r"^model name.*?:(.*)", cpuinfo) or platform.machine()
    yield "processor", f"{model}, {cores} cores usable"
    yield "memory", f"{int(memory) / 2**20:.0f} GiB" if memory else ""
    system = match(r'^PRETTY_NAME="?([^"]*)', read("/etc/os-release"))
    yield "system", ", ".join(filter(None, (system, f"Linux {platform.release()}")))
    yield "runs in", surroundings()


def driver_facts(driver):
    """What the driver's library says of itself, and whether it is the one of tests/emu."""
    number = ctypes.c_int()
    if driver and driver.cuDriverGetVersion(ctypes.byref(number)) == 0:
        yield "CUDA of the driver", f"{number.value // 1000}.{number.value % 1000 // 10}"


def specter_facts(root, build):
    git = ("git", "-c", "safe.directory=*", "-C", root)
    commit = output(*git, "describe", "--always", "--dirty", "--abbrev=10") or read(os.path.join(root, "COMMIT"))
    yield "specter", output(os.path.join(build, "specter"), "--version").partition("\n")[0]
    yield "commit", commit
    yield "built with", " ".join(read(os.path.join(build, "flags")).split())


def software_facts():
    yield "Python", platform.python_version()
    for line in output(sys.executable, "-c", PYTORCH).splitlines():
        yield tuple(line.rsplit(" ", 1))


def driver_library():
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def machine(root, build):
    name, facts = gpu_facts()
    driver = driver_library()
    for some in (host_facts(), driver_facts(driver), software_facts(), specter_facts(root, build)):
        facts += [(what, value) for what, value in some if value]
    standin = driver is not None and hasattr(driver, "emuHostClockNs")
    return {"gpu": name, "date": str(datetime.date.today()), "standin": standin, "facts": facts}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    json.dump(machine(*sys.argv[1:]), sys.stdout, indent=1, ensure_ascii=False)
    print()
