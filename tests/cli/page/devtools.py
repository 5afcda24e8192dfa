# SPDX-License-Identifier: MIT
"""A headless Chromium over its DevTools protocol, for tests of pages: JSON over a pair of pipes.

    with Browser() as browser:
        page = browser.open("/path/page.html", width=1280, height=900)
        page.run("document.title")
        page.key("+"); page.click(100, 200); page.wheel(300, 200, -120)
        page.messages      console messages, errors and warnings
        page.requests      what was asked of any address but the page's own
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


def find_browser():
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="specter-page-")
        in_read, self.to = os.pipe()
        self.back, out_write = os.pipe()

        def pipes():  # the browser reads from 3 and writes to 4
            a, b = os.dup(in_read), os.dup(out_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb",
             "--user-data-dir=" + self.folder, "about:blank"],
            close_fds=False, preexec_fn=pipes, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(in_read)
        os.close(out_write)
        self.next_id, self.rest, self.pages = 0, b"", {}
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.back, 1 << 20)
            if not more:
                raise OSError("the browser has gone")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        page = self.pages.get(message.get("sessionId"))
        if page is not None and "method" in message:
            page.event(message["method"], message["params"])
        return message

    def send(self, method, session=None, **params):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path, width=1280, height=900, dark=False, script=True, mobile=False):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, "file://" + os.path.abspath(path))
        self.pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(domain + ".enable")
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.send("Emulation.setScriptExecutionDisabled", value=not script)
        page.loaded = False
        page.send("Page.navigate", url=page.address)
        while not page.loaded:
            self.read()
        return page


class Page:
    def __init__(self, browser, session, address):
        self.browser, self.session, self.address = browser, session, address
        self.messages, self.requests, self.loaded = [], [], False

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def event(self, method, params):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(str([a.get("value", a.get("description")) for a in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            self.messages.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Log.entryAdded":
            self.messages.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and params["request"]["url"].split("#")[0] != self.address:
            self.requests.append(params["request"]["url"][:200])

    def run(self, expression):
        """The value of an expression in the page; promises are awaited."""
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def frame(self):
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def key(self, key, modifiers=0):
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36}
        more = {"windowsVirtualKeyCode": codes[key]} if key in codes else {"text": key}
        if key == "Enter":
            more["text"] = "\r"
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers, **more)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)
        self.frame()

    def type(self, text):
        self.send("Input.insertText", text=text)
        self.frame()

    def move(self, x, y):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.frame()

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.frame()

    def drag(self, x, y, to_x, to_y):
        self.send("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=to_x, y=to_y, button="left", buttons=1)
        self.send("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, button="left", clickCount=1)
        self.frame()

    def wheel(self, x, y, by, ctrl=False):
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by, modifiers=2 if ctrl else 0)
        self.frame()

    def picture(self, path, whole=False):
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        with open(path, "wb") as out:
            out.write(base64.b64decode(shot["data"]))

    def wait(self, condition, seconds=5):
        end = time.monotonic() + seconds
        while not self.run(condition):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True
