"""Clients at a node: one that asks for snapshots and the list of cameras again and again, and one that watches a stream."""
import http.client
import json
import struct
import threading

from node import HTTP, TOKEN

HEADERS = {"Authorization": f"Bearer {TOKEN}"}
# What a request may take. The service gives up before that.
PATIENCE = 20
STILL = 1.0


def jpeg_width(data):
    """The width that a JPEG's frame header has; 0 if there is none."""
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        if data[place + 1] in (0xC0, 0xC1, 0xC2):
            return struct.unpack(">H", data[place + 7:place + 9])[0]
        place += 2 + struct.unpack(">H", data[place + 2:place + 4])[0]
    return 0


def get(path, timeout=PATIENCE, address="127.0.0.1"):
    """Status, headers and body; status 0 and the reason where there is no answer."""
    connection = http.client.HTTPConnection(address, HTTP, timeout=timeout)
    try:
        connection.request("GET", path, headers=HEADERS)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, {}, repr(error).encode()
    finally:
        connection.close()


class Prober:
    """Asks its node from the node's own machine. `first` is asked before anything else, until all of it was answered."""

    def __init__(self, node, cameras, journal, over, interval, rng):
        self.node, self.names, self.journal, self.over = node, list(cameras.widths), journal, over
        self.interval, self.rng = interval, rng
        self.listing, self.first, self.focus, self._failed = {}, [], [], None
        self._lock, self._wake = threading.Lock(), threading.Event()
        node.machine.thread(self._run)
        node.machine.thread(self._list)

    def ask_all(self, cameras):
        with self._lock:
            self.first = list(cameras)
        self._wake.set()

    @property
    def is_done(self):
        with self._lock:
            return not self.first

    @property
    def is_of_use(self):
        return self.node.is_up and not self.node.is_paused and self.node.listening.is_set()

    def _run(self):
        while not self.over.is_set():
            if not self.is_of_use:
                self.over.wait(0.2)
                continue
            with self._lock:
                camera = self.first[0] if self.first else None
            status = self._probe(asked := camera or self._choose())
            if status != 200:
                self._failed = asked
            elif asked == self._failed:
                self._failed = None
            if camera:
                with self._lock:
                    if camera in self.first:
                        self.first.remove(camera)
                        if status != 200:
                            self.first.append(camera)
            if not camera or status != 200:
                self._wake.wait(self.interval)
                self._wake.clear()

    def _choose(self):
        """One that failed is asked for again and again, between others."""
        focus = self.focus
        if self._failed and self.rng.random() < 0.5:
            return self._failed
        return self.rng.choice(focus if focus and self.rng.random() < 0.7 else self.names)

    def _probe(self, camera):
        began, life = self.journal.seconds(), self.node.life
        status, headers, body = get(f"/cameras/{camera}/main.jpg?offline=error")
        if life == self.node.life and self.node.is_up:
            self.journal.add("probe", node=self.node.name, camera=camera, status=status, began=round(began, 3),
                             width=jpeg_width(body) if status == 200 else 0, state=headers.get("X-Source-State", ""))
        return status

    def _list(self):
        while not self.over.wait(1):
            if not self.is_of_use:
                self.listing = {}
                continue
            status, _, body = get("/api/cameras")
            if status != 200:
                continue
            listing = {each["name"]: each.get("node") for each in json.loads(body)["cameras"]}
            if listing != self.listing:
                self.listing = listing
                self.journal.add("listing", node=self.node.name, cameras=listing)


class Watcher:
    """Watches a stream at a node, and notes the frames that it does not get. The camera is the node's own unless it `moves`."""

    def __init__(self, node, camera, journal, over, moves=False):
        self.node, self.camera, self.journal, self.over, self.parts = node, camera, journal, over, 0
        self.moves = moves
        node.machine.thread(self._run)

    def _run(self):
        while not self.over.wait(0.5):
            if self.node.is_up and not self.node.is_paused and self.node.listening.is_set():
                self._watch(self.node.life)

    def _watch(self, life):
        def is_same():
            return self.node.life == life and self.node.is_up and not self.over.is_set()

        connection = http.client.HTTPConnection("127.0.0.1", HTTP, timeout=60)
        reason = "it ended"
        try:
            connection.request("GET", f"/cameras/{self.camera}/main.mjpeg", headers=HEADERS)
            answer = connection.getresponse()
            last, before = None, self.journal.seconds()
            # One that is asked for while the camera has no owner is refused, which is no end.
            if answer.status != 200:
                reason = None
            while answer.status == 200 and is_same():
                number, state = read_part(answer)
                if number is None:
                    break
                if self.moves and state != "live":
                    continue
                now, was_still = self.journal.seconds(), self.node.is_paused
                missed = number - last - 1 if last is not None else 0
                # A camera that moves begins to count anew at each node.
                if self.moves and now - before > STILL and not was_still:
                    self.journal.add("moving-pause", node=self.node.name, camera=self.camera, pause=round(now - before, 3))
                if not self.moves and last is not None and (missed > 0 or now - before > STILL) and is_same() and not was_still:
                    self.journal.add("frames", node=self.node.name, camera=self.camera, missed=max(missed, 0),
                                     pause=round(now - before, 3))
                last, before = number, now
                self.parts += 1
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = repr(error)
        finally:
            connection.close()
        if is_same() and reason:
            what = "moving-stream-ended" if self.moves else "stream-ended"
            self.journal.add(what, node=self.node.name, camera=self.camera, reason=reason)


def read_part(answer):
    """The sequence number of the stream's next part, and its camera's state; None twice at its end."""
    head = {}
    while not head.get("content-length"):
        while (line := answer.readline()) not in (b"\r\n", b""):
            key, _, value = line.decode("latin-1").partition(":")
            head[key.lower()] = value.strip()
        if not line:
            return None, None
    answer.read(int(head["content-length"]))
    return int(head["x-frame-sequence"]), head["x-source-state"]
