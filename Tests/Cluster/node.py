"""A node: its machine, its configuration, its processes one after the other, and what their logs say."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading


HERE = os.path.dirname(os.path.abspath(__file__))
SOAK = os.path.join(os.path.dirname(HERE), "Soak")
sys.path.append(SOAK)
import crash  # noqa: E402

from pictures import PictureStore, seconds  # noqa: E402

TOKEN = "cluster-nodes-and-clients"
HTTP = 8080
# Widths of pictures, by which cameras are told apart.
WIDTH, STEP, HEIGHT = 160, 16, 120
# How many of the cameras that move have a schedule, and the seconds from one of its moments to the next.
SCHEDULED, EVERY = 4, 2
# What is read of a log: the message's beginning, and what it is called in the journal.
LINES = {"camera taken": "taken", "camera released": "released", "camera yielded": "yielded",
         "another process has this node's name": "displaced", "lease store lost": "store-lost",
         "lease store reached": "store-reached", "node lost": "node-lost", "node joined": "node-joined",
         "scheduled snapshot missed": "moment-missed", "scheduled snapshot failed": "moment-failed",
         "scheduled snapshots resumed": "moments-resumed"}


class Cameras:
    """The cameras of all nodes: `moving` of them move, and each node has one that never does."""

    def __init__(self, nodes, moving, fps=10):
        self.moving = [f"cam{number}" for number in range(1, moving + 1)]
        self.fixed = {f"fixed-{node}": node for node in nodes}
        names = self.moving + list(self.fixed)
        self.widths = {name: WIDTH + STEP * number for number, name in enumerate(names)}
        self.schedules = {name: EVERY for name in self.moving[:SCHEDULED]}
        self.fps = fps

    @property
    def configuration(self):
        return {name: {"source": f"pattern:counter,size={width}x{HEIGHT},fps={self.fps}", "node": self.fixed.get(name, "any")}
                | self._scheduled(name) for name, width in self.widths.items()}

    def _scheduled(self, name):
        """Kept open, so that its frames are numbered through."""
        every = self.schedules.get(name)
        return {"keep-warm": True, "schedules": {"moments": {"every": f"{every}s", "name": "sequence"}}} if every else {}


class Clock:
    """Steps a process's time of day: the soak's library, preloaded. Nothing where there is no compiler."""

    def __init__(self, folder):
        self.library = None
        compiler = next((each for each in ("cc", "clang", "gcc") if shutil.which(each)), None)
        if compiler:
            source = os.path.join(SOAK, "clock.c")
            self.library = os.path.join(folder, "clock.so")
            subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", self.library, source], check=True)

    def environment(self, path):
        return {"LD_PRELOAD": self.library, "GLPREVIEW_SOAK_CLOCK": path} if self.library else {}


class Node:
    """`glpreview serve` on a machine. Its address is the same in each life."""

    def __init__(self, command, network, folder, number, cameras, servers, journal, clock, slots=16, name=None):
        self.name, self.journal, self.command, self.cameras, self.servers = name or f"n{number}", journal, command, cameras, servers
        self.machine = network.machine(f"n{number}", 10 + number)
        self.folder, self.slots, self._clock = os.path.join(folder, f"n{number}"), slots, clock
        self.life, self.process, self.is_up, self.is_paused, self.is_cut = 0, None, False, False, False
        os.makedirs(os.path.join(self.folder, "home"))
        self._log = open(os.path.join(self.folder, "node.log"), "a", encoding="utf-8")
        self.step_clock(0)
        self._configure()

    @property
    def url(self):
        return f"http://{self.machine.address}:{HTTP}"

    @property
    def key(self):
        """This process among all."""
        return f"{self.machine.name}/{self.life}"

    def _configure(self):
        configuration = {
            "bind": f"0.0.0.0:{HTTP}", "gpu": "software",
            "access": {"tokens": [{"token": TOKEN, "role": "control"}], "hosts": [self.machine.address, "localhost"]},
            "cluster": {
                "name": self.name, "url": self.url, "token": TOKEN, "slots": self.slots,
                "nats": {"servers": [server.url for server in self.servers], "token": "cluster-store",
                         "replicas": 3 if len(self.servers) > 1 else 1}},
            "cameras": self.cameras.configuration,
            # All pictures of a node that is cut off for a while can wait.
            "snapshots": {"stores": {"pictures": {"put": PictureStore.url, "attempts": 20, "capacity": 1000}}},
            "limits": {"requests-per-second": 100000, "connections-per-client": 2000},
        }
        with open(os.path.join(self.folder, "node.yaml"), "w", encoding="utf-8") as file:
            json.dump(configuration, file, indent=1)

    def step_clock(self, seconds):
        with open(os.open(os.path.join(self.folder, "clock"), os.O_WRONLY | os.O_CREAT), "wb") as file:
            file.write(seconds.to_bytes(8, sys.byteorder, signed=True))

    # Its processes

    def start(self):
        self.life += 1
        # Freed memory is filled (mallopt(3)), so that who reads it crashes at once, in the driver too.
        environment = {"PATH": os.environ["PATH"], "HOME": os.path.join(self.folder, "home"), "MALLOC_PERTURB_": "165"}
        environment |= self._clock.environment(os.path.join(self.folder, "clock")) | crash.environment(self._crash())
        words = [self.command, "serve", "--config", os.path.join(self.folder, "node.yaml"), "--log-format", "json"]
        self.process = subprocess.Popen(self.machine.words(*words), stdin=subprocess.DEVNULL, stdout=self._log,
                                        stderr=subprocess.PIPE, text=True, errors="replace", env=environment)
        self.listening = threading.Event()
        self.journal.add("start", node=self.name, key=self.key)
        self._reader = threading.Thread(target=self._read, args=(self.process, self.key, self.listening), daemon=True)
        self._reader.start()
        self.is_up = True

    def kill(self):
        """kill -9: nothing is tidied up."""
        self.is_up = False
        self.journal.add("end", node=self.name, key=self.key, how="kill")
        self.process.kill()
        self.process.wait()
        self.is_paused = False

    def end(self, patience=60):
        """SIGTERM: its cameras are taken by others first."""
        self.journal.add("leave", node=self.name, key=self.key)
        self.process.terminate()
        try:
            status = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            status = "none in time"
            self.process.kill()
            self.process.wait()
        self.is_up = False
        self.journal.add("end", node=self.name, key=self.key, how="term", status=status)

    def pause(self):
        self.is_paused = True
        self.journal.add("pause", node=self.name, key=self.key)
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.is_paused = False
        self.journal.add("continue", node=self.name, key=self.key)
        self.process.send_signal(signal.SIGCONT)

    def cut(self):
        self.is_cut = True
        self.journal.add("cut", node=self.name, key=self.key)
        self.machine.cut()

    def join(self):
        self.machine.join()
        self.is_cut = False
        self.journal.add("join", node=self.name, key=self.key)

    def watch(self):
        """Called again and again: a process ends only when it is told to."""
        if self.is_up and not self.is_paused and self.process.poll() is not None:
            self.is_up = False
            self.journal.add("died", node=self.name, key=self.key, status=self.process.returncode, crash=crash.words(self._crash()))

    def _crash(self):
        return os.path.join(self.folder, f"crash-{self.life}.txt")

    def use(self):
        """Memory and descriptors; None where the process is gone."""
        folder = f"/proc/{self.process.pid}"
        try:
            with open(f"{folder}/status", encoding="ascii") as file:
                rss = int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024
            return {"rss": rss, "descriptors": len(os.listdir(f"{folder}/fd"))}
        except (OSError, TypeError):
            return None

    def cpu(self):
        """Seconds of CPU so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    # Its log. Times are those at which lines come: nodes' clocks are among the faults.

    def _read(self, process, key, listening):
        for line in process.stderr:
            self._log.write(line)
            self._log.flush()
            try:
                event = json.loads(line)
                self._note(key, event["level"], event["message"], event, listening)
            except (ValueError, KeyError, TypeError):
                self.journal.add("bad-line", node=self.name, key=key, line=line.strip()[:300])

    def _note(self, key, level, message, event, listening):
        if "listening on" in message:
            listening.set()
        metadata = event.get("metadata") or event
        what = next((what for start, what in LINES.items() if message.startswith(start)), None)
        if what:
            fields = {name: metadata[name] for name in ("camera", "to", "reason") if name in metadata}
            if "epoch" in metadata:
                fields["epoch"] = int(metadata["epoch"])
            if what.startswith("moment-"):
                fields |= {"moment": seconds(metadata["moment"]), "count": int(metadata.get("count", 1))}
            if what in ("node-lost", "node-joined"):
                fields["other"] = metadata.get("node")
            self.journal.add(what, node=self.name, key=key, **fields)
        if level in ("error", "critical"):
            self.journal.add("error", node=self.name, key=key, message=message[:300])

