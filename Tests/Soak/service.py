"""The service under test: its configuration, its process, its log, its clock."""
import collections
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import cameras
import crash
import pictures
from ledger import SECRET

HERE = os.path.dirname(os.path.abspath(__file__))
READ, CONTROL, OF_ENVIRONMENT = SECRET + "-read", SECRET + "-control", SECRET + "-environment"
KEPT = 40
# Not one of these may ever fail, whatever happens to the others.
STEADY = ["steady", "polled", "counter", "pair"]
# The size in whose pixels masks are, by the key that fixes it.
REFERENCE, SIZE = "reference", "%dx%d" % pictures.SIZE
UNITS = {"s": 1, "h": 3600, "d": 86400, "y": 365 * 86400}


def configuration(variant, folder, server, rtsp_port):
    """What is served; JSON is YAML."""
    if variant == "broken":
        return {"cameras": {"steady": {"sorce": "pattern:counter"}}}

    def http(name, ending, **more):
        login = f"cam:{SECRET}@" if name == "steady" else ""
        query = f"?token={SECRET}" if name == "steady" else ""
        return {"source": f"http://{login}{server.address}/{name}.{ending}{query}", REFERENCE: SIZE,
                "masks": [pictures.MASK], "timeout": "5s"} | more

    script = f"{sys.executable} {HERE}/exec_camera.py http://{server.address}/child.raw {SECRET}"
    every = {
        "steady": http("steady", "mjpeg", headers={"X-Key": SECRET}, views={
            "main": {"quality": 85}, "face": {"crop": "160x120+0+120", "size": "160x120", "locked": True}}),
        "polled": http("polled", "jpg"),
        "counter": {"source": "pattern:counter,size=320x240,fps=10"},
        "guest": http("guest", "mjpeg", required=False, **{"stalls-after": "3s" if variant == "other" else "2s"}, views={
            "main": {"rotate": 180} if variant == "views" else {}, "small": {"size": "160x"}}),
        "still": http("still", "jpg", required=False, offline="last"),
        "child": {"source": f"exec:{script}" + (" again" if variant == "other" else ""), "required": False,
                  "masks": [pictures.MASK], REFERENCE: SIZE, "timeout": "5s", "offline": "error"},
        "pipe": {"source": os.path.join(folder, "pipe"), "required": False, "masks": [pictures.MASK], REFERENCE: SIZE},
        "reel": {"source": os.path.join(folder, "reel.y4m"), "required": False} | ({"fps": 5} if variant == "other" else {}),
    }
    if rtsp_port:
        every["rtsp"] = {"source": f"rtsp://127.0.0.1:{rtsp_port}/jpeg", "required": False, "timeout": "5s"}
    if variant == "without":
        del every["guest"], every["reel"]
    return {
        "bind": "127.0.0.1:0", "gpu": "software", "cameras": every,
        "scenes": {"pair": {"tiles": ["steady", "polled"]}, "all": {"layout": "grid:size=480x360", "labels": "all", "fps": 5}},
        "access": {"tokens": [{"token": READ, "role": "read"}, {"token": CONTROL, "role": "control"}]},
        "limits": {"requests-per-second": 100000, "connections-per-client": 1000, "ad-hoc-views": 64, "stalled-client": "5s",
                   "idle-connection": "15s"},
        "snapshots": {"folder": {"path": os.path.join(folder, "kept"), "max-count": KEPT, "max-age": "12h"}},
    }


class Service:
    """One life after the other of `glpreview serve`."""

    def __init__(self, command, folder, ledger, server, rtsp_port):
        self.command, self.folder, self.ledger, self.server, self.rtsp_port = command, folder, ledger, server, rtsp_port
        self.life, self.port, self.process, self.is_up = 0, 0, None, False
        self.offset, self.stepped, self.disk_trouble = 0, -1e9, False
        self._log = open(os.path.join(folder, "service.log"), "a", encoding="utf-8")
        self._library = self._built(os.path.join(HERE, "clock.c"), os.path.join(folder, "clock.so"))
        self.clock("+0s")

    def _built(self, source, library):
        """What steps the service's clock; None where there is no compiler."""
        for compiler in ("cc", "clang", "gcc"):
            if shutil.which(compiler):
                subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, source], check=True)
                return library
        self.ledger.skip("a clock that steps", "there is no C compiler")
        return None

    # Its clock and its files

    def clock(self, step):
        """The time of day from now on, beside the true one: `+3600s`, `-2d`."""
        self.offset = int(step[:-1]) * UNITS[step[-1]] if self._library else 0
        # In place: it is mapped.
        with open(os.open(os.path.join(self.folder, "clock"), os.O_WRONLY | os.O_CREAT), "wb") as file:
            file.write(self.offset.to_bytes(8, sys.byteorder, signed=True))
        self.stepped, self.server.clock_offset = time.monotonic(), self.offset

    def configure(self, variant):
        self._write("service.yaml", json.dumps(configuration(variant, self.folder, self.server, self.rtsp_port), indent=1))

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.rename(path + ".new", path)

    def _environment(self):
        home = os.path.join(self.folder, "home")
        environment = {"PATH": os.environ["PATH"], "HOME": home, "GLPREVIEW_TOKEN": OF_ENVIRONMENT}
        if self._library:
            environment |= {"LD_PRELOAD": self._library, "GLPREVIEW_SOAK_CLOCK": os.path.join(self.folder, "clock")}
        return environment | crash.environment(self._crash())

    def _crash(self):
        return os.path.join(self.folder, f"crash-{self.life}.txt")

    # Its process

    def start(self):
        """A new life; returns when it is ready, however long that takes."""
        self.life += 1
        self.configure("base")
        self.process = subprocess.Popen(
            [self.command, "serve", "--config", os.path.join(self.folder, "service.yaml"), "--log-format", "json"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.PIPE, text=True, errors="replace",
            env=self._environment())
        listening = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(self.process, listening), daemon=True)
        self._reader.start()
        while not listening.wait(0.1) and self.process.poll() is None:
            pass
        if self.process.poll() is not None:
            raise SystemExit(f"soak: glpreview did not start; see {self._log.name}")
        self.is_up = True
        self.ledger.count("service started")

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """kill -9: nothing is tidied up."""
        self.is_up = False
        self.process.kill()
        self._gone()
        self.ledger.count("service killed")

    def end(self):
        """SIGTERM: everything is tidied up."""
        self.is_up = False
        self.process.terminate()
        try:
            status = self.process.wait(60)
            if status != 0:
                self.ledger.violation("SIGTERM did not end the service well", f"exit status {status}")
        except subprocess.TimeoutExpired:
            self.ledger.violation("SIGTERM did not end the service", "after 60 s")
            self.process.kill()
        self._gone()

    def _gone(self):
        """All that it had started goes with it."""
        self.process.wait()
        self._reader.join(5)
        deadline = time.monotonic() + 15
        while (left := self._children_of_camera()) and time.monotonic() < deadline:
            time.sleep(0.1)
        for number, line in left:
            self.ledger.violation("an exec: child outlived the service", line.replace(SECRET, "***"))
            os.kill(number, signal.SIGKILL)

    def _children_of_camera(self):
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    line = file.read().replace("\0", " ")
            except OSError:
                continue
            if f"http://{self.server.address}/child.raw" in line:
                found.append((int(path.split("/")[2]), line))
        return found

    def watch(self):
        """Called again and again: it may end only when it is told to."""
        if self.is_up and (status := self.process.poll()) is not None:
            self.is_up = False
            self.ledger.violation("the service ended by itself", f"status {status}; see {self._log.name} {crash.words(self._crash())}")
            return False
        return True

    def state(self):
        """Its memory and what it holds; None where it is not there."""
        folder = f"/proc/{self.process.pid}"
        try:
            with open(f"{folder}/status", encoding="ascii") as file:
                status = file.read()
            children = 0
            for path in glob.glob(f"{folder}/task/*/children"):
                with open(path, encoding="ascii") as file:
                    children += len(file.read().split())
            # Mesa's cache of programs starts up to four threads when it has much to write, and keeps them.
            threads = sum(count for name, count in self.threads().items() if ":disk$" not in name)
            return {"rss": int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024, "children": children,
                    "threads": threads, "descriptors": len(os.listdir(f"{folder}/fd"))}
        except (OSError, TypeError):
            return None

    def threads(self):
        """What its threads are called, with how many there are of each; the kernel cuts names at 15 letters."""
        names = collections.Counter()
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/comm"):
            with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
                names[file.read().strip()] += 1
        return dict(names)

    # Its log

    def _read(self, process, listening):
        for line in process.stderr:
            self._log.write(line)
            self._log.flush()
            self.ledger.check_secrets("the log", line)
            try:
                event = json.loads(line)
                level, message = event["level"], event["message"]
                event["time"], event["label"]
            except (ValueError, KeyError, TypeError):
                self.ledger.violation("a line of the log is none", line)
                continue
            self.ledger.count(f"log: {level}")
            if not listening.is_set() and (found := re.search(r"listening on 127\.0\.0\.1:(\d+)", message)):
                self.port = int(found[1])
                listening.set()
            if level in ("error", "critical") and not self._is_expected(message):
                self.ledger.violation("the service logged an error", line.strip())

    def _is_expected(self, message):
        if "snapshot not saved" in message:
            return self.disk_trouble
        return "configuration not reloaded" in message and self.broken

    broken = False
