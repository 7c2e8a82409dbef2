"""The service's clients: what each kind asks for, and what must be true of the answer."""
import base64
import contextlib
import http.client
import json
import os
import random
import re
import socket
import time
from dataclasses import dataclass

import pictures
from service import CONTROL, READ, STEADY

# How long anything may take on a machine that has no time for us, beyond what was asked for.
PATIENCE = 60
# What a snapshot may take, in place of five seconds.
TIMEOUT_MS = 30000
# What a picture may wait on its way from a camera to the service.
TRANSPORT_MS = 5000
# Behind a mask, or made of what is.
MASKED = ["steady", "polled", "guest", "still", "child", "pipe"]
CAMERAS = MASKED + ["counter", "reel", "rtsp"]
WORDS = {
    "width": ["64", "96", "160", "200"], "height": ["48", "120", "150"], "size": ["128x96", "160x160", "320x240"],
    "mode": ["fit", "fill", "stretch", "inside"], "rotate": ["0", "90", "180", "270"], "mirror": ["horizontal", "vertical"],
    "crop": ["100x80+10+20", "160x120+160+120", "64x64+150+100"],
    "filter": ["nearest", "bilinear", "area", "bicubic", "mitchell", "lanczos"],
    "linear": ["true"], "background": ["#203040"],
}
COMBINATIONS = 12


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes
    began: float


class Clients:
    """All kinds of clients, by name; each takes the seed's random source, and asks once or for a while."""

    def __init__(self, service, ledger, frames, seed):
        self.service, self.ledger, self.frames = service, ledger, frames
        # Each way to see a picture takes a program, which software rendering keeps (128 at most, some megabytes each): few of
        # them, so that what grows beside that is seen.
        source = random.Random(seed)
        self.combinations = [{key: source.choice(WORDS[key]) for key in source.sample(list(WORDS), source.randint(0, 3))}
                             for _ in range(COMBINATIONS)]
        self.acknowledged, self.cookies = [], []

    # Asking

    def excused(self, life):
        """Whether the service was killed meanwhile."""
        if self.service.is_up and self.service.life == life:
            return False
        self.ledger.count("interrupted by a kill")
        return True

    def connect(self, address="127.0.0.1", room=None):
        """A plain connection."""
        connection = socket.socket()
        if room:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        connection.settimeout(PATIENCE)
        connection.bind((address, 0))
        connection.connect(("127.0.0.1", self.service.port))
        return connection

    def ask(self, path, method="GET", body=None, token=READ, camera=None, headers=()):
        """An answer, checked for what is true of all; None where the service was killed meanwhile, or does not answer."""
        life, began = self.service.life, time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        fields = dict(headers) | ({"Authorization": f"Bearer {token}"} if token else {})
        if body is not None:
            fields["Content-Type"] = "application/json"
        try:
            connection.request(method, path, body, fields)
            answer = connection.getresponse()
            answer = Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read(), began)
        except (OSError, http.client.HTTPException) as error:
            if not self.excused(life):
                self.ledger.violation("a request was not answered", f"{method} {path}: {error!r}, "
                                      f"after {time.monotonic() - began:.1f} s")
            return None
        finally:
            connection.close()
        self._check(method, path, answer, camera)
        return answer

    def _check(self, method, path, answer, camera):
        self.ledger.status(answer.status)
        self.ledger.check_secrets(f"{method} {path}", answer.body)
        for value in answer.headers.values():
            self.ledger.check_secrets(f"{method} {path}", value)
        detail = f"{method} {path}: {answer.status} {answer.body[:200]!r}"
        if answer.status == 504 and path.split("?")[0].endswith(".mjpeg"):
            # A stream has ten seconds for its first picture, whatever the machine is busy with.
            self.ledger.count("streams without a first picture in time")
        elif answer.status == 503 and "retry-after" in answer.headers and b"delivers no frames" not in answer.body:
            # A gate that is full says so; it is the camera that must not fail.
            self.ledger.count("sent away by a gate")
        elif camera in STEADY and (answer.status >= 500 or answer.status == 404):
            self.ledger.violation(f"{answer.status} from a camera that works", detail)
        elif answer.status >= 500 and answer.status not in (503, 504):
            self.ledger.violation(f"{answer.status} from the service", detail)

    def camera(self, rng, names=None):
        if names is None:
            names = CAMERAS if self.service.rtsp_port else CAMERAS[:-1]
        # Those that must always work are asked half of the time.
        steady = [name for name in names if name in STEADY]
        return rng.choice(steady if steady and rng.random() < 0.5 else names)

    def words(self, rng):
        return dict(rng.choice(self.combinations))

    # Pictures

    def snapshot(self, rng):
        camera = self.camera(rng) if rng.random() < 0.8 else rng.choice(["pair", "all"])
        words = {} if camera in ("pair", "all") else self.words(rng)
        if rng.random() < 0.3:
            words["quality"] = rng.choice(["1", "50", "95"])
        if rng.random() < 0.2:
            words["max_bytes"] = rng.choice(["3000", "20000"])
        if rng.random() < 0.2:
            words["encoding"] = rng.choice(["base64", "dataurl"])
        if rng.random() < 0.2:
            words["offline"] = rng.choice(["placeholder", "last", "error"])
        self._picture(camera, "jpg", words, rng)

    def mask(self, rng):
        camera = self.camera(rng, MASKED + ["pair"])
        words = self.words(rng) if camera != "pair" and rng.random() < 0.6 else {}
        self._picture(camera, "png", words, rng)

    def _picture(self, camera, kind, words, rng):
        age = rng.choice([None, 0, 0, 200, 3000])
        if age is not None and camera not in ("pair", "all"):
            words["max_age"] = str(age)
        view = "face" if camera == "steady" and not words.keys() & WORDS.keys() and rng.random() < 0.2 else "main"
        words["timeout"] = str(TIMEOUT_MS)
        query = "&".join(f"{key}={value}" for key, value in words.items()).replace("#", "%23")
        path = f"/cameras/{camera}/{view}.{kind}" + (f"?{query}" if query else "")
        began, since = self.frames.now(), time.time()
        answer = self.ask(path, camera=camera)
        if answer is None or answer.status != 200:
            return
        state = answer.headers.get("x-source-state")
        if camera in STEADY and camera != "pair" and state != "live" and self.service.is_warm:
            self.ledger.count(f"of a camera that works: {state}")
        # A scene shows each camera's newest picture, and says when the oldest of them was taken.
        if state == "live" and camera not in ("pair", "all"):
            self._check_time(path, answer, since - (age if age is not None else 1000) / 1000)
        if kind == "jpg":
            data = answer.body
            if "encoding" in words:
                data = base64.b64decode(data.split(b",")[-1])
            self.check_jpeg(path, data)
            if "max_bytes" in words and len(answer.body) > int(words["max_bytes"]):
                self.ledger.violation("a picture has more bytes than it may", f"{path}: {len(answer.body)}")
            return
        try:
            picture = pictures.PNG(answer.body)
        except ValueError as error:
            return self.ledger.violation("a picture is not whole", f"{path}: {error}")
        self.ledger.count("masks looked under")
        if state == "live" and picture.shows_secret():
            self.keep(answer.body, ".png")
            self.ledger.violation("a mask hides nothing", f"{path}: {picture.width}x{picture.height}")
        # A pipe may hold pictures that nobody took.
        plain = not words.keys() - {"max_age", "timeout", "linear"} and view == "main" and camera not in ("pair", "pipe")
        stamp = picture.stamp() if plain and state == "live" else None
        if stamp is not None:
            self.ledger.count("times read from pictures")
            late = (began - (age if age is not None else 1000) - stamp) % pictures.STAMPS
            if TRANSPORT_MS < late < pictures.STAMPS / 2:
                self.ledger.violation("a picture is older than promised", f"{path}: by {late} ms")

    def _check_time(self, path, answer, since):
        """What the answer says of its age; not while the clock is being set."""
        if min(answer.began, time.monotonic() - 10) < self.service.stepped:
            return
        self.ledger.count("times checked")
        late = since + self.service.offset - float(answer.headers["x-timestamp"])
        if late > 0.1:
            self.ledger.violation("an answer says that its picture is too old", f"{path}: by {late:.3f} s")

    def check_jpeg(self, path, data):
        self.ledger.count("JPEGs looked at")
        if not pictures.is_whole_jpeg(data):
            self.keep(data, ".jpg")
            self.ledger.violation("a picture is not whole", f"{path}: {len(data)} bytes")

    def keep(self, data, ending):
        """A picture that proves something."""
        path = os.path.join(self.ledger.folder, f"violation-{self.ledger.number_of_violations()}{ending}")
        with open(path, "wb") as file:
            file.write(data)

    def capture(self, rng):
        """A snapshot for all: what is acknowledged is to be found in the folder."""
        camera = self.camera(rng, ["steady", "polled", "guest", "still", "child"])
        wish = {"timeout": TIMEOUT_MS}
        if rng.random() < 0.3:
            wish["max_age"] = rng.choice([0, 500])
        if rng.random() < 0.2:
            wish["quality"] = rng.choice([30, 90])
        life = self.service.life
        answer = self.ask(f"/api/cameras/{camera}/snapshots", "POST", json.dumps(wish), CONTROL, camera)
        if answer is None or answer.status != 200:
            return
        content = json.loads(answer.body)
        for picture in content["pictures"]:
            self.check_jpeg(f"POST {camera}", base64.b64decode(picture["snapshot"]))
            name = f"{camera}/{content['timestamp'].replace(':', '-')}-{picture['view']}"
            self.acknowledged.append((life, name))
            self.ledger.count("snapshots acknowledged")

    # Streams

    def stream(self, rng):
        camera = self.camera(rng)
        words = self.words(rng) | ({"fps": rng.choice(["0.5", "4"])} if rng.random() < 0.4 else {})
        query = "&".join(f"{key}={value}" for key, value in words.items()).replace("#", "%23")
        self.follow(f"/cameras/{camera}/main.mjpeg?{query}", rng.uniform(1, 8), camera)

    def multiplexed(self, rng):
        names = rng.sample(STEADY + ["guest", "still", "all"], rng.randint(1, 4))
        self.follow("/api/stream?" + "&".join(f"view={name}/main" for name in names), rng.uniform(1, 8))

    def follow(self, path, seconds, camera=None):
        life, end, last = self.service.life, time.monotonic() + seconds, {}
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=PATIENCE)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {READ}"})
            answer = connection.getresponse()
            if answer.status != 200:
                return self._check("GET", path, Answer(answer.status, {}, answer.read(), 0), camera)
            self.ledger.status(200)
            while time.monotonic() < end:
                head = {}
                while (line := answer.readline()) not in (b"\r\n", b""):
                    key, _, value = line.decode("latin-1").partition(":")
                    head[key.lower()] = value.strip()
                    self.ledger.check_secrets(path, line)
                if not line:
                    return self._ended(path, life, camera)
                if "content-length" not in head:
                    continue
                self.check_jpeg(path, answer.read(int(head["content-length"])))
                self.ledger.count("parts of streams")
                view, number = (head["x-camera"], head["x-view"]), int(head["x-frame-sequence"])
                if head["x-source-state"] == "live":
                    last[view] = number
        except (OSError, http.client.HTTPException) as error:
            self._ended(path, life, camera, repr(error))
        finally:
            connection.close()

    def _ended(self, path, life, camera, reason="it ended"):
        if not self.excused(life) and camera in STEADY:
            self.ledger.violation("the stream of a camera that works broke off", f"{path}: {reason}")
        self.ledger.count("streams that the service ended")

    def events(self, rng):
        """Follows the events twice: what is missed in between is told."""
        last = None
        for seconds in (rng.uniform(1, 4), rng.uniform(1, 4)):
            last = self._events(seconds, last)
            time.sleep(rng.uniform(0, 2))

    def _events(self, seconds, last):
        life, end = self.service.life, time.monotonic() + seconds
        head = f"GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {READ}\r\n"
        head += f"Last-Event-ID: {last}\r\n" if last else ""
        epoch, _, number = (last or "-").rpartition("-")
        expected, text, lost = int(number) + 1 if last else None, b"", 0
        try:
            with self.connect() as connection:
                connection.sendall(head.encode() + b"\r\n")
                connection.settimeout(0.5)
                while time.monotonic() < end:
                    with contextlib.suppress(TimeoutError):
                        text += (piece := connection.recv(65536))
                        if not piece:
                            break
        except OSError as error:
            if not self.excused(life):
                self.ledger.violation("the events broke off", repr(error))
            return None
        self.ledger.check_secrets("/api/events", text)
        for block in text.replace(b"\r\n", b"\n").split(b"\n\n")[:-1]:
            if found := re.search(rb'^data: *\{"events": *(\d+)', block, re.M):
                lost += int(found[1])
            if not (found := re.search(rb"^id: ([0-9a-f]+)-(\d+)$", block, re.M)):
                continue
            now, number = found[1].decode(), int(found[2])
            self.ledger.count("events")
            if epoch == now and expected is not None and number != expected + lost:
                self.ledger.violation("an event is missing", f"{number} came, expected {expected}, {lost} lost")
            epoch, expected, lost, last = now, number + 1, 0, f"{now}-{number}"
        return last

    # The rest of the API

    def api(self, rng):
        camera = self.camera(rng)
        path = rng.choice(["/", "/api/cameras", f"/api/cameras/{camera}", "/state", "/readyz",
                           f"/snapshot?timeout={TIMEOUT_MS}", f"/?action=snapshot&timeout={TIMEOUT_MS}",
                           f"/api/frame.jpeg?src={camera}", "/api/cameras/nothing", "/favicon.ico"])
        known = "steady" if path.startswith(("/snapshot", "/?", "/state")) or path == "/api/cameras" else None
        answer = self.ask(path, camera=known)
        if answer and answer.status == 200 and path.startswith("/api/cameras"):
            json.loads(answer.body)

    def metrics(self, rng):
        answer = self.ask("/metrics")
        return measured(answer.body.decode()) if answer and answer.status == 200 else {}

    def patch(self, rng):
        view = rng.choice(["guest/views/main", "guest/views/small", "polled/views/main"])
        change = rng.choice([{"rotate": 90}, {"rotate": 0}, {"fps": 3}, {"fps": None}, {"crop": "160x120+0+0"}, {"crop": None},
                             {"size": "200x150"}, {"size": None}, {"quality": 0}, {"rotate": "x"}, {"enabled": True}])
        self.ask(f"/api/cameras/{view}", "PATCH", json.dumps(change), CONTROL)

    def login(self, rng):
        answer = self.ask("/api/login", "POST", json.dumps({"token": rng.choice([READ, CONTROL])}), None)
        if answer and (cookie := answer.headers.get("set-cookie")):
            headers = {"Cookie": cookie.split(";")[0]}
            if (seen := self.ask("/api/cameras", token=None, headers=headers)) and seen.status != 200:
                self.ledger.violation("a login is good for nothing", f"{seen.status}")
            if rng.random() < 0.5:
                self.ask("/api/logout", "POST", "{}", None, headers=headers)

    # Clients that are wrong

    def bad_words(self, rng):
        words = rng.choice(["width=-1", "crop=9999x9999+0+0", "rotate=north", "yaw=north", "what=ever", "size=0x0", "max_age=x", "timeout=0",
                            "quality=101", "width=" + "9" * 400, "filter=%00", "%", "crop=1x1+-1+-1", "encoding=", "size=100000x1"])
        camera = rng.choice(["steady", "counter"])
        answer = self.ask(f"/cameras/{camera}/{rng.choice(['main', 'face'])}.{rng.choice(['jpg', 'png', 'mjpeg'])}?{words}")
        if answer and answer.status == 200 and words != "%":
            self.ledger.violation("nonsense was taken", words)
        self.ask(f"/api/cameras/{camera}/snapshots", "POST", rng.choice(["{", "[]", '{"views": []}', '{"max_age": -1}', "x" * 70000]),
                 CONTROL)

    def bad_bytes(self, rng):
        self._raw(rng.choice([
            b"\0" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n",
            b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nab",
            b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" + rng.randbytes(200), rng.randbytes(500)]))

    def bad_token(self, rng):
        # Of an address of its own: who guesses locks out the guesses of his address.
        for _ in range(rng.randint(1, 14)):
            self._raw(b"GET /api/cameras HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n", "127.0.0.66", b"20")

    def _raw(self, data, address="127.0.0.1", refused=None):
        life, text = self.service.life, b""
        try:
            with self.connect(address) as connection:
                connection.sendall(data)
                connection.settimeout(2)
                with contextlib.suppress(TimeoutError):
                    while piece := connection.recv(65536):
                        text += piece
        except ConnectionError:
            pass
        except OSError as error:
            if not self.excused(life):
                self.ledger.violation("a connection was not taken", repr(error))
        self.ledger.check_secrets("nonsense", text)
        status = text[9:12]
        if status in (b"500", b"501", b"502") or refused and status.startswith(refused):
            self.ledger.violation("nonsense is answered wrongly", f"{data[:100]!r}: {text[:200]!r}")

    def _holding(self, request, seconds, room=None, then=None):
        with contextlib.suppress(OSError), self.connect(room=room) as connection:
            connection.sendall(request)
            if then:
                then(connection)
            time.sleep(seconds)

    def _request(self, rng):
        path = rng.choice(["/cameras/steady/main.mjpeg", "/cameras/counter/main.png?width=640", "/api/events",
                           "/api/stream?view=pair/main&view=guest/main"])
        return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {READ}\r\n\r\n".encode()

    def never_reading(self, rng):
        self._holding(self._request(rng) * rng.choice([1, 20]), rng.uniform(2, 12), room=4096)

    def half_closed(self, rng):
        self._holding(self._request(rng), rng.uniform(0, 3), then=lambda connection: connection.shutdown(socket.SHUT_WR))

    def leaving(self, rng):
        self._holding(self._request(rng), rng.uniform(0, 0.05))

    def slow_head(self, rng):
        def drip(connection):
            for letter in self._request(rng)[:20]:
                connection.sendall(bytes((letter,)))
                time.sleep(0.2)

        self._holding(b"", 0, then=drip)


def measured(text):
    """Prometheus' text as numbers by series; ValueError where a line is none."""
    series = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            series[name] = float(value)
    return series
