# SPDX-License-Identifier: MIT
"""Describes the machine of the GPU suite, for the report: `machine.py ROOT BUILD BUILD_ID` prints one JSON object.

    {"gpu": name, "date": day, "build": BUILD_ID, "standin": whether the driver is that of tests/emu,
     "facts": [[what, value], ...]}

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

# The report's lines on the GPU, in nvidia-smi's fields; a line with one that is not known is left out.
GPU_FACTS = [
    ("driver", "{driver_version}"),
    ("VBIOS", "{vbios_version}"),
    ("GPU memory", "{memory.total}"),
    ("ECC", "{ecc.mode.current}"),
    ("SM clock", "{clocks.sm} as found, {clocks.max.sm} at most"),
    ("memory clock", "{clocks.mem} as found, {clocks.max.mem} at most"),
    ("power", "{power.draw} as found"),
    ("power limit", "{power.limit}, by default {power.default_limit}"),
    ("temperature", "{temperature.gpu} °C as found"),
    ("persistence mode", "{persistence_mode}"),
    ("compute mode", "{compute_mode}"),
    ("MIG", "{mig.mode.current}"),
    ("PCIe", "generation {pcie.link.gen.max}, {pcie.link.width.max} lanes"),
]
FIELD = re.compile(r"\{([a-z_.]+)\}")

# Asked of a Python of its own: PyTorch loads the CUDA libraries, whose versions are then asked of themselves.
PYTORCH = """
import ctypes, torch
print("PyTorch", torch.__version__)
print("CUDA of PyTorch", torch.version.cuda)
if torch.distributed.is_nccl_available():
    print("NCCL", ".".join(map(str, torch.cuda.nccl.version())))
try:
    v = torch.backends.cudnn.version()
    print("cuDNN", f"{v // 10000}.{v // 100 % 100}.{v % 100}")
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
    """Returns the output of a command; nothing where there is no such command or it fails."""
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
    known = smi(["name"] + [field for _, text in GPU_FACTS for field in FIELD.findall(text)])
    known = {field: v for field, v in known.items() if v and not re.search("N/A|Not Supported", v)}
    facts = [
        (what, FIELD.sub(lambda found: known[found[1]], text))
        for what, text in GPU_FACTS
        if all(field in known for field in FIELD.findall(text))
    ]
    return known.get("name", ""), facts


def driver_name(driver):
    """The first GPU's name, where nvidia-smi does not tell it."""
    name = ctypes.create_string_buffer(96)
    known = driver and driver.cuInit(0) == 0 and driver.cuDeviceGetName(name, len(name), 0) == 0
    return name.value.decode() if known else ""


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
    """Yields the version of CUDA that the driver's library has, where there is one."""
    number = ctypes.c_int()
    if driver and driver.cuDriverGetVersion(ctypes.byref(number)) == 0:
        yield "CUDA of the driver", f"{number.value // 1000}.{number.value % 1000 // 10}"


def specter_facts(root, build):
    git = ("git", "-c", "safe.directory=*", "-C", root)
    commit = output(*git, "describe", "--always", "--dirty", "--abbrev=10") or read(os.path.join(root, "COMMIT"))
    yield "specter", output(os.path.join(build, "specter"), "--version").partition("\n")[0]
    yield "commit", commit
    compiler, *flags = read(os.path.join(build, "flags")).split() or [""]
    told = [f for f in flags if re.match(r"-(O|g|f|m|D|U|l|stat)", f)]
    yield "compiler", output(compiler, "--version").partition("\n")[0] if compiler else ""
    yield "built with", " ".join(told)


def software_facts():
    yield "Python", platform.python_version()
    for line in output(sys.executable, "-c", PYTORCH).splitlines():
        yield tuple(line.rsplit(" ", 1))


def driver_library():
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def machine(root, build, build_id):
    name, facts = gpu_facts()
    driver = driver_library()
    for some in (host_facts(), driver_facts(driver), software_facts(), specter_facts(root, build)):
        facts += [(what, value) for what, value in some if value]
    standin = driver is not None and hasattr(driver, "emuHostClockNs")
    today = str(datetime.date.today())
    return {"gpu": name or driver_name(driver), "date": today, "build": build_id, "standin": standin, "facts": facts}


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    json.dump(machine(*sys.argv[1:]), sys.stdout, indent=1, ensure_ascii=False)
    print()
