# gunicorn: two workers on the loopback interface, requests, HUP, requests again, TERM.
prepare() {
    need_python gunicorn
    cat >app.py <<'PY'
import os

def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"%d" % os.getpid()]
PY
    cat >drive.py <<'PY'
import http.client, re, signal, subprocess, sys, time

def port():
    match = re.search(r"http://127\.0\.0\.1:(\d+)", open("log").read())
    return int(match.group(1)) if match else None

def ask():
    connection = http.client.HTTPConnection("127.0.0.1", port(), timeout=10)
    connection.request("GET", "/")
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status == 200
    return int(body)

def await_true(condition, what):
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    sys.exit("waited in vain for " + what)

def booted():
    return open("log").read().count("Booting worker")

open("log", "w").close()
server = subprocess.Popen([sys.executable, "-m", "gunicorn", "-w", "2", "-b", "127.0.0.1:0", "--pid", "pid",
                           "--log-file", "log", "app:app"])
try:
    await_true(lambda: booted() == 2 and port(), "two workers")
    first = {ask() for _ in range(30)}
    server.send_signal(signal.SIGHUP)
    await_true(lambda: booted() == 4 and open("log").read().count("Worker exiting") == 2, "two new workers")
    second = {ask() for _ in range(30)}
    print("answers", len(first) > 0, len(second) > 0, not first & second)
finally:
    server.terminate()
    print("status", server.wait(30))
PY
}

program() {
    PYTHONPATH=$MADE python "$MADE/drive.py"
    echo "status $?"
    sed -E 's/^\[[^]]*\] \[[0-9]+\] //; s/[0-9]{3,}/N/g' log | sort
}
# The order in which workers start, and so their pipes, differs from run to run.
normalize() {
    sed -E 's,^[0-9]+ [0-9]+ run/log,run/log,; s,(wgunicorn-)[A-Za-z0-9_-]+,\1NAME,g' |
        if [[ $1 == processes ]]; then descriptor_kinds; else cat; fi
}
