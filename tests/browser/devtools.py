"""A headless Chromium, driven through a pipe by the DevTools protocol: nothing but the standard library is needed."""

import json
import os
import select
import signal
import subprocess
import time

# Seconds that an answer may take. Reason: a browser that hangs must fail, not hang the tests.
PATIENCE = 60


class BrowserError(Exception):
    """The browser did not do what it was told."""


class Browser:
    """One browser with one page, and what went wrong in it."""

    def __init__(self, binary, folder):
        to_read, self.to_write = os.pipe()
        self.to_read, to_write = os.pipe()

        def wire():
            # The browser reads from 3 and writes to 4; neither end may be lost on the way.
            reads, writes = os.dup(to_read), os.dup(to_write)
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        # Chromium has no sandbox for root, and refuses to start without being told so.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [binary, "--headless", *sandbox, "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder}",
                   "--remote-debugging-pipe", "about:blank"]
        self.log = open(os.path.join(folder, "log"), "w+b")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        preexec_fn=wire, close_fds=False, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def close(self):
        """Ends the browser and all its processes, if need be by force."""
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(timeout=10)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            pass
        try:
            # The browser leads a group of its own; what is left of it ends here.
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.log.close()
        os.close(self.to_read)
        os.close(self.to_write)

    def fail(self, what):
        self.log.seek(0)
        last = self.log.read().decode(errors="replace").strip().splitlines()[-3:]
        raise BrowserError(f"{what}; its last words: {' | '.join(last) or 'none'}")

    def receive(self, deadline):
        """The next message."""
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.to_read], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                self.fail(f"the browser has not answered within {PATIENCE} s")
            piece = os.read(self.to_read, 1 << 16)
            if not piece:
                self.fail("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        """The result of a method. What happens meanwhile is kept in `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        try:
            os.write(self.to_write, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            self.fail("the browser has ended")
        deadline = time.monotonic() + PATIENCE
        while (answer := self.receive(deadline)).get("id") != self.number:
            self.take(answer)
        if "error" in answer:
            self.fail(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def take(self, event):
        self.events.append(event)
        if event.get("method") == "Page.javascriptDialogOpening":
            # Nothing goes on before it is closed; nobody waits for the answer.
            self.number += 1
            close = {"id": self.number, "sessionId": self.session, "method": "Page.handleJavaScriptDialog",
                     "params": {"accept": False}}
            os.write(self.to_write, json.dumps(close).encode() + b"\0")

    def open(self, path):
        """Opens a file, and waits until it is there."""
        self.events.clear()
        answer = self.call("Page.navigate", url=path.resolve().as_uri())
        if "errorText" in answer or "loaderId" not in answer:
            self.fail(f"{path}: {answer.get('errorText', 'it was open before')}")

        def is_there(event):
            # What was open before may be told to have loaded as late as now.
            of = event.get("params", {})
            return event.get("method") == "Page.lifecycleEvent" and (
                of["name"] == "load" and of["loaderId"] == answer["loaderId"])

        deadline = time.monotonic() + PATIENCE
        while not any(map(is_there, self.events)):
            self.take(self.receive(deadline))

    def evaluate(self, expression):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            self.fail(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def complaints(self):
        """What the page has said or tried since it was opened, beside loading itself: errors, messages, breaches of its
        policy, dialogs, requests."""
        found, requests = [], []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Log.entryAdded":
                found.append(parameters["entry"]["text"])
            elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening"):
                found.append(f"{method} {json.dumps(parameters)[:300]}")
            elif method == "Network.requestWillBeSent":
                requests.append(parameters["request"]["url"])
        return found + [f"requests {url}" for url in requests[1:]]
