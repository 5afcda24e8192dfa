# SPDX-License-Identifier: MIT
# On a terminal the screen is drawn anew in its place and never higher than the terminal; without colour and movement
# where the terminal has none; Ctrl-C ends it with 0.
. "$ROOT/tests/cli/watch/common.bash"
mkdir traces
for rank in {0..39}; do
    { init $rank 40; op $rank 40 1; [[ $rank == 17 ]] || op $rank 40 2 none; } >"$trace$rank.jsonl"
done
python3 - "$SPECTER" <<'END'
import fcntl, os, pty, re, signal, struct, subprocess, sys, termios, time

def run(columns, looks, **env):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environ = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "TERM")} | env
    child = subprocess.Popen([sys.argv[1], "watch", "traces", "--interval", "0.1"], stdin=slave, stdout=slave,
                             stderr=subprocess.PIPE, env=environ)
    os.close(slave)
    text = b""
    while text.count(b"Rank 17") < looks:
        text += os.read(master, 65536)
    child.send_signal(signal.SIGINT)
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    status = child.wait()
    return text.decode(), status, child.stderr.read().decode()

text, status, err = run(100, 3, TERM="xterm")
looks = text.split("\033[?7l")[1:]
print("status", status, repr(err), "in place" if "\033[" + str(looks[0].count("\n")) + "A" in looks[1] else looks)
print("lines", max(look.count("\n") for look in looks), "colour" if "\033[1;31m" in text else "no colour")
print(re.search(r"and \d+ more ranks", text)[0], "17 is there" if re.search(r"\n\s+17 .*BLOCKED", text) else text)
print("wrap again" if text.rstrip().endswith("\033[?7h") else repr(text[-40:]))
text, status, err = run(100, 2, TERM="xterm", NO_COLOR="1")
print("colour" if "\033[1" in text.replace("\033[1A", "") and "\033[1;31m" in text else "no colour")
text, status, err = run(100, 2, TERM="dumb")
print("status", status, "escapes" if "\033" in text else "no escapes", "ranks", text.split("traces, ")[1].count("waits"))
text, status, err = run(100, 2, TERM="xterm", COLUMNS="60")
print("narrow", max(len(re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", l)) for l in text.split("Rank 17")[1].split("\r\n")[:2]) <= 60)
END
