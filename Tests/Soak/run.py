"""Carries the plan out: cameras, clients and faults in time; then a quiet phase in which everything must be as it was."""
import concurrent.futures
import contextlib
import os
import random
import signal
import subprocess
import threading
import time

import pictures
from cameras import HTTPCameras, PipeCamera, RTSPCamera, write_video
from clients import Clients, measured
from plan import CLIENTS, FLAKY
from service import CONTROL, KEPT, READ, Service

WORKERS = 24
# What the quiet phase waits for at most, on a machine that has no time for us.
DEADLINE = 120
# By how much memory may grow in a life after its warm-up, however long that is: caches fill up, nothing else may.
GROWTH, WARM_UP = 128 << 20, 2
FOLDER_BYTES = 4 << 20
FOLDER_RESULTS = ("done", "failed", "dropped")


class Run:
    def __init__(self, command, ledger, may_mount, seed):
        self.ledger, self.folder = ledger, os.path.join(ledger.folder, "work")
        self.kept = os.path.join(self.folder, "kept")
        os.makedirs(os.path.join(self.folder, "home"))
        os.makedirs(self.kept)
        self.may_fill = may_mount and self._mount()
        if not self.may_fill:
            ledger.skip("a disk that fills", "a tmpfs can't be mounted here (root, or unshare -rm)")
        self.server = HTTPCameras(ledger, ["steady", "polled"] + FLAKY)
        PipeCamera(os.path.join(self.folder, "pipe"), self.server, "pipe")
        self.video = os.path.join(self.folder, "reel.y4m")
        write_video(self.video)
        self.rtsp = None
        if reason := RTSPCamera.missing():
            ledger.skip("an RTSP camera", reason)
        else:
            self.rtsp = RTSPCamera()
        self.service = Service(command, self.folder, ledger, self.server, self.rtsp and self.rtsp.port)
        self.clients = Clients(self.service, ledger, self.server.frames, seed)
        self.phase, self.over, self.baseline, self.troubles = "start", threading.Event(), None, 0
        self.missed = set()
        self.watchers = [threading.Thread(target=each, daemon=True) for each in (self._sample, self._probe)]
        self.lock = threading.Lock()

    def _mount(self):
        words = ["mount", "-t", "tmpfs", "-o", f"size={FOLDER_BYTES}", "tmpfs", self.kept]
        return subprocess.run(words, capture_output=True).returncode == 0

    # What goes on all the time

    def _sample(self):
        while not self.over.wait(1):
            if not self.service.watch():
                self.over.set()
            if state := self.service.state():
                self.ledger.sample(self.service.life, self.phase, state)

    def _probe(self):
        """/healthz answers always."""
        while not self.over.wait(0.3):
            if self.service.is_up:
                began = time.monotonic()
                answer = self.clients.ask("/healthz", token=None)
                if answer:
                    self.ledger.health.append((self.ledger.seconds(), (time.monotonic() - began) * 1000))
                    if answer.status != 200:
                        self.ledger.violation("/healthz does not say 200", f"{answer.status}")

    # The plan

    def through(self, cycles):
        self._start()
        for watcher in self.watchers:
            watcher.start()
        for number, cycle in enumerate(cycles, 1):
            print(f"soak: {self.ledger.seconds():.0f} s: cycle {number} of {len(cycles)}, "
                  f"{self.ledger.number_of_violations()} violations", flush=True)
            self._busy(cycle)
            self._quiet(cycle)
            if cycle.end == "kill":
                self._kill(random.Random(number))
                self._start()
            if self.over.is_set():
                return self.ledger.skip("the rest of the plan", "the service is gone")

    def close(self):
        self.over.set()
        if self.service.is_up:
            self.service.end()
        for watcher in self.watchers:
            if watcher.ident:
                watcher.join(70)
        if self.rtsp:
            self.rtsp.close()
        if self.may_fill:
            subprocess.run(["umount", self.kept], capture_output=True)

    def _start(self):
        self.phase, self.baseline, self.names, self.troubles = "start", None, None, 0
        self.service.is_warm = False
        self.service.start()
        self._until("the service is not ready", self._is_ready)
        self.service.is_warm = True
        self._until("half-written files are left over", lambda: not self._files(".part"))

    def _is_ready(self):
        answer = self.clients.ask("/readyz")
        return answer is None or answer.status == 200

    def _until(self, what, condition, detail=lambda: ""):
        """Waits for what must come true, however slow the machine is; a violation where it does not."""
        deadline = time.monotonic() + DEADLINE
        while not (done := condition()) and time.monotonic() < deadline and self.service.is_up:
            time.sleep(0.25)
        if not done and self.service.is_up:
            self.ledger.violation(what, f"after {DEADLINE} s {detail()}")
        return done

    def _busy(self, cycle):
        self.phase, start = "busy", time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
            for action in cycle.actions:
                self.over.wait(max(start + action.at - time.monotonic(), 0))
                if self.over.is_set():
                    break
                if action.kind in CLIENTS:
                    workers.submit(self._client, action)
                else:
                    getattr(self, "_" + action.kind)(action, workers)
                self.ledger.count(action.kind + "".join(f" {value}" for key, value in action.words.items() if key != "seconds"))
        self.phase = "quiet"

    def _client(self, action):
        try:
            getattr(self.clients, action.kind)(random.Random(action.seed))
        except Exception as error:  # An answer that can't be read is a fault, of one of the two.
            self.ledger.violation("an answer is not what it should be", f"{action}: {error!r}")

    # What happens to the service

    def _camera(self, action, workers):
        self.server.modes[action.words["name"]] = action.words["mode"]

    def _file(self, action, workers):
        if action.words["mode"] == "there":
            write_video(self.video)
        elif os.path.exists(self.video):
            if action.words["mode"] == "gone":
                os.remove(self.video)
            else:
                os.truncate(self.video, 5000)

    def _rtsp_drop(self, action, workers):
        if self.rtsp:
            self.rtsp.tell("drop")

    def _reload(self, action, workers):
        self._configure(action.words["variant"])

    def _configure(self, variant):
        self.service.broken = self.service.broken or variant == "broken"
        self.service.configure(variant)
        self.service.signal(signal.SIGHUP)

    def _clock(self, action, workers):
        self.service.clock(action.words["step"])

    def _disk(self, action, workers):
        if self.may_fill:
            workers.submit(self._fill, action.words["seconds"])

    def _fill(self, seconds):
        """Leaves no room in the folder for a while."""
        self.service.disk_trouble = True
        path = os.path.join(self.kept, "ballast")
        with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
            for size in (65536, 4096, 512):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)
        time.sleep(seconds)
        os.remove(path)

    def _kill(self, rng):
        """kill -9 while snapshots are written; what comes next is a new life."""
        self.phase = "kill"

        def capture():
            while self.service.is_up:
                self.clients.capture(random.Random(0))

        def look():
            self.clients.follow("/cameras/child/main.mjpeg", 60)

        takers = [threading.Thread(target=each) for each in (capture, capture, capture, look)]
        for taker in takers:
            taker.start()
        # A child that writes nothing learns nothing from a pipe that is closed.
        self._until("a camera does not come back", lambda: self._is_live("child"), lambda: "child")
        self.server.modes["child"] = "stall"
        time.sleep(rng.uniform(0.3, 1.5))
        self.service.kill()
        self.server.modes["child"] = "good"
        for taker in takers:
            taker.join()
        self._check_files()

    # The quiet phase

    def _quiet(self, cycle):
        for name in self.server.modes:
            self.server.modes[name] = "good"
        write_video(self.video)
        self.service.clock("+0s")
        self._configure("base")
        for view in ("guest/views/main", "guest/views/small", "polled/views/main"):
            self._until("a view can't be set back", lambda view=view: self._reset(view))
        for camera in ("steady", "guest", "still", "child"):
            self._until("a camera does not come back", lambda camera=camera: self._is_live(camera), lambda: camera)
        self._check_folder()
        self._check_rest()
        self.service.broken = self.service.disk_trouble = False

    def _reset(self, view):
        body = '{"rotate": 0, "fps": null, "crop": null, "size": null}'
        answer = self.clients.ask(f"/api/cameras/{view}", "PATCH", body, CONTROL)
        return answer is not None and answer.status == 200

    def _is_live(self, camera):
        answer = self.clients.ask(f"/cameras/{camera}/main.jpg?max_age=0&offline=error")
        return answer is not None and answer.status == 200 and answer.headers.get("x-source-state") == "live"

    def _check_rest(self):
        """Descriptors, threads, children and memory, when nobody has looked for a while."""
        kinds = ("descriptors", "threads", "children")
        states = []

        def is_at_rest():
            state = self.service.state()
            if state is None:
                return True
            states.append(state)
            if self.baseline is None:
                # What is there at rest is not known yet: it is the least of twenty seconds. A camera that is away is
                # tried again every few seconds, which takes a thread or a descriptor for a moment.
                return len(states) > 80
            return all(state[kind] <= self.baseline[kind] for kind in kinds)

        self._until("not all was given back", is_at_rest,
                    lambda: f"{states[-1]}, {self.service.threads()}; at the start {self.baseline}, {self.names}")
        state = self.service.state()
        if state is None:
            return
        self.ledger.memory.append((self.service.life, state["rss"]))
        if self.baseline is None:
            least = {kind: min(each[kind] for each in states[-80:]) for kind in kinds}
            self.baseline, self.names = state | least, self.service.threads()
        before = [rss for life, rss in self.ledger.memory if life == self.service.life][:WARM_UP]
        if state["rss"] > max(before) + GROWTH:
            self.ledger.violation("memory grows", f"{state['rss'] / 1e6:.0f} MB, after the warm-up {max(before) / 1e6:.0f}")

    # The folder

    def _files(self, ending):
        return [os.path.join(path, name) for path, _, names in os.walk(self.kept) for name in names if name.endswith(ending)]

    def _check_files(self):
        """All that is there is whole, at any time."""
        for path in self._files(".jpg"):
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                self.clients.check_jpeg(path, file.read())

    def _check_folder(self):
        """All that was acknowledged is there, unless the folder said that it had no room, or newer ones took its place."""
        counted = {}

        def is_written():
            answer = self.clients.ask("/metrics")
            series = measured(answer.body.decode()) if answer and answer.status == 200 else {}
            numbers = {each: int(series.get(f'glpreview_folder_files_total{{result="{each}"}}', 0)) for each in FOLDER_RESULTS}
            settled = numbers == counted.get("now")
            counted["now"] = numbers
            return settled and sum(numbers.values()) >= len(mine)

        mine = [name for life, name in self.clients.acknowledged if life == self.service.life]
        self._until("snapshots that were acknowledged are neither kept nor counted as failed", is_written,
                    lambda: f"{len(mine)} acknowledged, {counted.get('now')}")
        now = counted.get("now") or dict.fromkeys(FOLDER_RESULTS, 0)
        lost = now["failed"] + now["dropped"]
        # Of those that were written, some were never acknowledged; they take places too.
        places = KEPT - max(sum(now.values()) - len(mine), 0)
        newest = mine[-max(places - WORKERS, 1):] if mine else []
        found = {}
        for path in self._files(".jpg"):
            name = os.path.relpath(path, self.kept)[:-len(".jpg")]
            found[name] = found.get(name, 0) + 1
        # The losses of an earlier check are not counted again.
        missing = [name for name in newest if name not in found and name not in self.missed]
        self.missed.update(missing)
        self.ledger.count("acknowledged snapshots looked for", len(newest))
        self.ledger.count("snapshots that the service said it could not keep", lost - self.troubles)
        if len(missing) > lost - self.troubles:
            self.ledger.violation("a snapshot that was acknowledged is not there",
                                  f"{len(missing)} of {len(newest)}: {missing[:3]}; {now}, {len(found)} files")
        self.troubles = lost
        if sum(found.values()) > KEPT:
            self.ledger.violation("the folder keeps more than it may", f"{sum(found.values())} files, max-count {KEPT}")
        self._check_files()
