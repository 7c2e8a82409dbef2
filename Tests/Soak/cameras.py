"""The harness' cameras: an HTTP server whose cameras do as they are told, a writer of a FIFO, an RTSP server, a Y4M file."""
import os
import random
import socket
import socketserver
import subprocess
import sys
import threading
import time

import pictures

HERE = os.path.dirname(os.path.abspath(__file__))
RTSP = os.path.join(HERE, "..", "CommandTests", "Support", "rtsp_server.py")
TICK = 0.125
# What a camera may be told to do. `odd` is of another aspect; all from `cut` on lie.
SIZES = {"good": (320, 240), "small": (160, 120), "large": (640, 480), "odd": (320, 176)}
ABSENT = ["stall", "refuse", "error", "page"]
LIES = ["cut", "length", "garbage", "endless", "bomb", "future", "drip"]
MODES = list(SIZES) + ABSENT + LIES
BOUNDARY = b"--frame\r\n"


class Frames:
    """The frame of now of each size, made once for all cameras; a stamp is milliseconds since the harness began."""

    def __init__(self):
        self._start, self._lock, self._made = time.monotonic(), threading.Lock(), {}

    def now(self):
        return int((time.monotonic() - self._start) * 1000)

    def newest(self, size):
        with self._lock:
            stamp, time_of_day, data = self._made.get(size, (-1000, 0, b""))
            if self.now() - stamp >= TICK * 900:
                stamp, time_of_day = self.now(), time.time()
                data = pictures.frame(size, stamp)
                self._made[size] = stamp, time_of_day, data
            return time_of_day, data


class HTTPCameras(socketserver.ThreadingTCPServer):
    """`/NAME.mjpeg` (parts), `/NAME.jpg` (one picture), `/NAME.raw` (one JPEG after another), each as `modes` says."""
    daemon_threads, allow_reuse_address, request_queue_size = True, True, 64

    def __init__(self, ledger, names):
        super().__init__(("127.0.0.1", 0), HTTPCamera)
        # Seconds by which the clock of cameras and service is wrong: they go by one.
        self.clock_offset = 0
        self.ledger, self.frames, self.modes = ledger, Frames(), dict.fromkeys(names, "good")
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class HTTPCamera(socketserver.BaseRequestHandler):
    """A connection to a camera."""

    def handle(self):
        # Little room on the way: what is sent is taken soon, or never.
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
        self.request.settimeout(60)
        while head := self._head():
            path, _, query = head.split()[1].partition("?")
            self.name, _, kind = path.strip("/").partition(".")
            if kind == "raw" and query != "secrets=0&descriptors=0":
                self.server.ledger.violation("an exec: child was given secrets or descriptors", query)
            if self._mode == "refuse" or not {"mjpeg": self._parts, "jpg": self._picture, "raw": self._raw}[kind]():
                return

    def _head(self):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.request.recv(4096)
            if not piece:
                return None
            head += piece
        return head.decode("latin-1")

    @property
    def _mode(self):
        return self.server.modes[self.name]

    def _send(self, *pieces):
        self.request.sendall(b"".join(pieces))

    def _newest(self, mode):
        return self.server.frames.newest(SIZES.get(mode, SIZES["good"]))

    def _answer(self, status, kind, body):
        self._send(b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (status, kind, len(body)), body)
        return True

    def _without_picture(self, mode):
        """Answers as a camera does that has no picture; false where `mode` has one."""
        if mode == "error":
            return self._answer(b"500 Broken", b"text/plain", b"broken")
        if mode == "page":
            return self._answer(b"200 OK", b"text/html", b"<title>log in</title>")
        return False

    def _picture(self):
        mode = self._mode
        if self._without_picture(mode):
            return True
        while self._mode == "stall":
            time.sleep(TICK)
        data = self._newest(mode)[1]
        return self._answer(b"200 OK", b"image/jpeg", data[:-200] if mode in LIES else data)

    def _raw(self):
        self._send(b"HTTP/1.0 200 OK\r\n\r\n")
        while (mode := self._mode) not in ("refuse", "error", "page"):
            if mode != "stall":
                data = self._newest(mode)[1]
                self._send(data[:-200] if mode in LIES else data)
            time.sleep(TICK)
        return False

    def _parts(self):
        if self._without_picture(self._mode):
            return True
        self._send(b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=frame\r\n\r\n")
        while (mode := self._mode) not in ("refuse", "error", "page"):
            if mode != "stall" and not self._part(mode):
                return False
            time.sleep(TICK)
        return False

    def _part(self, mode):
        taken, data = self._newest(mode)
        taken += self.server.clock_offset
        length = len(data)
        if mode == "cut":
            data = data[:-200]
        elif mode == "length":
            length = random.choice([0, 7, length * 3, 2**62])
        elif mode == "garbage":
            data = random.randbytes(length)
        elif mode == "bomb":
            size = data.index(b"\xff\xc0") + 5
            data = data[:size] + b"\x27\x0f\x27\x0f" + data[size + 4:]
        elif mode == "future":
            taken = random.choice([taken + 86400, -1, float("nan"), 1e300])
        head = BOUNDARY + b"Content-Type: image/jpeg\r\nContent-Length: %d\r\nX-Timestamp: %f\r\n\r\n" % (length, taken)
        if mode == "endless":
            self._send(BOUNDARY, b"Content-Type: image/jpeg\r\n\r\n", data[:600])
            while self._mode == mode:
                self._send(b"\x11" * 65536)
                time.sleep(0.01)
            return False
        if mode == "drip":
            for start in range(0, len(data), 16):
                self._send((head if start == 0 else b"") + data[start:start + 16])
                time.sleep(0.05)
                if self._mode != mode:
                    return False
        else:
            self._send(head, data, b"\r\n")
        return mode != "cut"


class PipeCamera(threading.Thread):
    """Writes JPEGs into a FIFO while somebody reads there, and its mode is `good`."""

    def __init__(self, path, server, name):
        super().__init__(daemon=True)
        self.path, self.server, self.name_of_camera = path, server, name
        os.mkfifo(path)
        self.start()

    def run(self):
        while True:
            time.sleep(TICK)
            if self.server.modes[self.name_of_camera] != "good":
                continue
            try:
                pipe = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # Nobody reads.
                continue
            try:
                os.set_blocking(pipe, True)
                while self.server.modes[self.name_of_camera] == "good":
                    os.write(pipe, self.server.frames.newest(SIZES["good"])[1])
                    time.sleep(TICK)
            except OSError:
                pass
            finally:
                os.close(pipe)


class RTSPCamera:
    """The tests' RTSP server, which can be told to end all connections."""

    def __init__(self):
        self._server = subprocess.Popen(["/usr/bin/python3", RTSP], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.port = int(self._server.stdout.readline())

    @staticmethod
    def missing():
        """Why there is none here; None where there is."""
        try:
            check = subprocess.run(["/usr/bin/python3", RTSP, "--check"], capture_output=True, text=True)
        except OSError as error:
            return str(error)
        return None if check.returncode == 0 else (check.stderr.strip().splitlines() or ["?"])[-1]

    def tell(self, word):
        self._server.stdin.write(word + "\n")
        self._server.stdin.flush()

    def close(self):
        self._server.kill()
        self._server.wait()


def write_video(path):
    """A Y4M file of ten frames, there at once."""
    frames = b"".join(b"FRAME\n" + bytes((40 + 20 * number,)) * 4096 + b"\x80" * 2048 for number in range(10))
    with open(path + ".new", "wb") as file:
        file.write(b"YUV4MPEG2 W64 H64 F10:1 Ip A1:1 C420jpeg\n" + frames)
    os.rename(path + ".new", path)
