# SPDX-License-Identifier: MIT
# On a terminal text that is longer than the screen goes through $PAGER, with the terminal's width and colours; what
# fits does not, nor with --no-pager, PAGER=cat, TERM=dumb or into a pipe. A pager that is not there costs nothing.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export TRACES=$ROOT/tests/cli/replay/data/two_ranks
python3 - "$SPECTER" <<'END'
import fcntl, os, pty, struct, subprocess, sys, termios

def run(*args, rows=24, **env):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
    environ = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "TERM", "PAGER", "LESS")}
    environ.update(TERM="xterm", PAGER="sed s/^/PAGED:/; echo LESS=$LESS", **{"LC_ALL": "C.UTF-8"})
    environ.update(env)
    child = subprocess.Popen([sys.argv[1], *args], stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=environ)
    os.close(slave)
    text = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:
            break
        text += more
    return text.decode().replace("\r\n", "\n"), child.wait(), child.stderr.read().decode()

def paged(text):
    lines = text.split("\n")[:-1]
    if lines[-1].startswith("LESS="):
        return f"all paged, {lines[-1]}" if all(l.startswith("PAGED:") for l in lines[:-1]) else "some paged"
    return "PAGED" if "PAGED" in text else "not paged"

traces = os.environ["TRACES"]
plain = subprocess.run([sys.argv[1], "analyze", "--full", traces], capture_output=True, text=True).stdout
text, status, err = run("analyze", "--full", traces)
print("long:", paged(text), status)
print("help:", paged(run("help", "capture")[0]))
print("short:", paged(run("analyze", traces)[0]))
print("high screen:", paged(run("analyze", "--full", traces, rows=1000)[0]))
print("LESS:", paged(run("analyze", "--full", traces, LESS="X")[0]))
for why, got in {
    "--no-pager": run("--no-pager", "analyze", "--full", traces),
    "cat": run("analyze", "--full", traces, PAGER="cat"),
    "none": run("analyze", "--full", traces, PAGER=""),
    "dumb": run("analyze", "--full", traces, TERM="dumb"),
    "missing": run("analyze", "--full", traces, PAGER="no-such-pager"),
}.items():
    print(why + ":", paged(got[0]), "the same text" if plain in got[0] else got[0], got[1])
text, status, err = run("analyze", "--full", traces, "--fail-on", "step_ms>0")
print("status", status, paged(text), err.strip())
first = run("analyze", traces, PAGER="sed -n 1,3p", rows=5)[0]
print("colour" if "\033[1m" in first and first.count("\n") == 3 else repr(first))
print("pipe:", paged(subprocess.run([sys.argv[1], "analyze", "--full", traces], capture_output=True, text=True,
      env=os.environ | {"PAGER": "sed s/^/PAGED:/", "TERM": "xterm"}).stdout))
END
