"""What `glpreview serve` costs: one camera of 1080p at 60/s, four views, 20 clients of MJPEG."""
import os
import re
import selectors
import signal
import socket
import statistics
import subprocess
import time
import urllib.request

from kit import W2_VIEWS

CLIENTS = 20
HEAD_FIELD = re.compile(rb"content-length:\s*(\d+)", re.I)


class Client:
    """Counts the pictures of one stream by their Content-Length."""

    def __init__(self, port, view):
        self.socket = socket.create_connection(("127.0.0.1", port), 5)
        self.socket.sendall(f"GET /cameras/camera/{view}.mjpeg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        self.socket.setblocking(False)
        self.view, self.text, self.skip, self.pictures, self.bytes, self.is_closed = view, b"", 0, 0, 0, False

    def read(self):
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.is_closed = not data
        self.bytes += len(data)
        while data:
            taken = min(self.skip, len(data))
            self.skip -= taken
            data = data[taken:]
            if self.skip:
                return
            self.text, data = self.text + data, b""
            end = self.text.find(b"\r\n\r\n")
            if end < 0:
                return
            found = HEAD_FIELD.search(self.text[:end])
            data, self.text = self.text[end + 4:], b""
            if found:
                self.skip, self.pictures = int(found.group(1)), self.pictures + 1


def process_times(pid):
    """Its CPU seconds, and the megabytes that are resident."""
    with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/status") as status:
        fields, memory = stat.read().rsplit(")", 1)[1].split(), re.search(r"VmRSS:\s+(\d+)", status.read())
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(memory.group(1)) / 1024 if memory else 0.0


def metrics(kit, port):
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
    kit.log(text)
    return {name: float(value) for name, value in re.findall(r"^(glpreview_[^ ]+) ([0-9.e+-]+)$", text, re.M)}


def watch(clients, seconds):
    with selectors.DefaultSelector() as selector:
        for client in clients:
            if not client.is_closed:
                selector.register(client.socket, selectors.EVENT_READ, client)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for key, _ in selector.select(0.2):
                key.data.read()
                if key.data.is_closed:
                    selector.unregister(key.fileobj)


def measured(kit, port, pid, seconds):
    for _ in range(150):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.1)
    clients = [Client(port, "abcd"[i % 4]) for i in range(CLIENTS)]
    watch(clients, 3)
    for client in clients:
        client.pictures = client.bytes = 0
    before, (cpu, _), begun = metrics(kit, port), process_times(pid), time.monotonic()
    watch(clients, seconds)
    taken, (after, memory) = time.monotonic() - begun, process_times(pid)
    change = {name: value - before.get(name, 0) for name, value in metrics(kit, port).items()}
    return clients, taken, (after - cpu) / taken, memory, change


def serve(kit):
    with socket.socket() as finder:
        finder.bind(("127.0.0.1", 0))
        port = finder.getsockname()[1]
    command = [kit.command, "serve", "pattern:smpte,size=1920x1080,fps=60", *W2_VIEWS, "--bind", f"127.0.0.1:{port}",
               "--gpu", kit.gpu]
    folder = os.path.join(kit.work, "serve")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "log"), "w+") as text:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=text, stderr=text, env=kit.environment(), cwd=folder,
                                 start_new_session=True)
        try:
            clients, taken, cpu, memory, change = measured(kit, port, child.pid, 15 if kit.is_hardware else 5)
        finally:
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
            text.seek(0)
            kit.log("\n$ " + " ".join(command) + "\n" + text.read())
    stages = {}
    for name in change:
        found = re.match(r'glpreview_stage_seconds_count\{stage="(\w+)"\}', name)
        if found and change[name] > 0:
            stages[found.group(1)] = change[name.replace("_count", "_sum")] / change[name] * 1e3
    rates = [client.pictures / taken for client in clients]
    by_view = {view: statistics.mean(r for c, r in zip(clients, rates) if c.view == view) for view in "abcd"}
    captured = change.get('glpreview_frames_captured_total{camera="camera"}', 0)
    kit.section("Serve", [
        f"1080p at 60/s, 4 views, {CLIENTS} clients of MJPEG, {taken:.0f} s: CPU {100 * cpu:.0f}% of a core, {memory:.0f} MB; "
        "pictures/s a client: " + ", ".join(f"{v} {r:.1f}" for v, r in by_view.items())
        + f" (least {min(rates):.1f}); {sum(c.bytes for c in clients) / taken / 1e6:.1f} MB/s.",
        "Stages, ms each: " + ", ".join(f"{name} {value:.2f}" for name, value in stages.items())
        + f"; captured {captured / taken:.1f}/s, drawn {change.get('glpreview_pictures_rendered_total', 0) / taken:.1f}/s."],
        {"cpuPercent": 100 * cpu, "megabytes": memory, "rates": rates, "stages": stages, "metrics": change})
    if min(rates) == 0:
        kit.failed("serve: a client got no picture")
