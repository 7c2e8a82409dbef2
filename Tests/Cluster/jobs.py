#!/usr/bin/env python3
"""Render jobs while workers die: all pictures are there, and none is recorded twice.

    Tests/Cluster/jobs.py [--pictures 10000] [--workers 4] [--every 1] [--command .build/release/glpreview]

Starts a nats-server and the workers, submits a list, and kills one worker with SIGKILL each second, in turn; it is started again
at once. Prints the figures as JSON, and exits with 1 if a picture is missing, damaged or left over, or a result was stored twice.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=int, default=10000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between kills; 0 kills nobody")
    parser.add_argument("--command", default=".build/release/glpreview")
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--restart-server", action="store_true", help="kill and restart nats-server once, amid the jobs")
    return parser.parse_args()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def ask(port, subject):
    """One request to nats-server; its answer as JSON."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        stream = connection.makefile("rwb")
        stream.readline()
        stream.write(b'CONNECT {"verbose":false}\r\nSUB inbox 1\r\nPUB %s inbox 0\r\n\r\n' % subject.encode())
        stream.flush()
        while line := stream.readline():
            if line.startswith(b"MSG"):
                return json.loads(stream.read(int(line.split()[-1])))


class Server:
    def __init__(self, folder):
        self.port = free_port()
        self.file = folder / "nats.conf"
        self.file.write_text(f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{folder}/js" }}\n')
        self.start()

    def start(self):
        self.process = subprocess.Popen(["nats-server", "-c", self.file], stderr=subprocess.DEVNULL)
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                time.sleep(0.02)

    def restart(self):
        self.process.kill()
        self.process.wait()
        self.start()


class Workers:
    """Processes of which one dies now and then."""

    def __init__(self, command, count, log):
        self.command, self.log = command, log
        self.processes = [self.start(number) for number in range(count)]
        self.kills = 0

    def start(self, number):
        return subprocess.Popen([*self.command, "--name", f"w{number}"], stderr=self.log)

    def kill_next(self):
        number = self.kills % len(self.processes)
        self.processes[number].kill()
        self.processes[number].wait()
        self.kills += 1
        self.processes[number] = self.start(number)

    def stop(self):
        """Ends them as a service manager does. Returns their exit statuses."""
        # The last one may have been started a moment ago.
        time.sleep(3)
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        return [process.wait() for process in self.processes]


def make_sources(command, folder, count):
    """Small JPEGs, each with a comment of its own."""
    bases = []
    for number in range(8):
        path = folder / f"base{number}.jpg"
        pattern = f"pattern:counter,size={160 + 16 * number}x120"
        subprocess.run([command, "render", pattern, "-o", path], check=True)
        bases.append(path.read_bytes())
        path.unlink()
    names = []
    for number in range(count):
        text = b"picture %d" % number
        comment = b"\xff\xfe" + (len(text) + 2).to_bytes(2, "big") + text
        base = bases[number % 8]
        names.append(f"{number // 1000:02}/p{number:05}.jpg")
        path = folder / names[-1]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(base[:2] + comment + base[2:])
    return names


def size_of(jpeg):
    """The size in a JPEG's frame header; None if it is cut."""
    if not (jpeg.startswith(b"\xff\xd8") and jpeg.endswith(b"\xff\xd9")):
        return None
    place = 2
    while jpeg[place + 1] not in (0xC0, 0xC2):
        place += 2 + int.from_bytes(jpeg[place + 2 : place + 4], "big")
    return int.from_bytes(jpeg[place + 7 : place + 9], "big"), int.from_bytes(jpeg[place + 5 : place + 7], "big")


def run(options, folder):
    command = str(pathlib.Path(options.command).resolve())
    sources, results = folder / "sources", folder / "results"
    sources.mkdir()
    results.mkdir()
    names = make_sources(command, sources, options.pictures)
    (folder / "list").write_text("\n".join(names))
    server = Server(folder)
    log = open(folder / "workers.log", "w")
    nats = ["--nats", f"127.0.0.1:{server.port}"]
    workers = Workers(
        [command, "work", *nats, "--sources", sources, "--folder", results, "--concurrency", str(options.concurrency)],
        options.workers, log)
    ended = threading.Event()

    def interfere():
        while options.every and not ended.wait(options.every):
            workers.kill_next()

    interfering = threading.Thread(target=interfere)
    begin = time.monotonic()
    interfering.start()
    submitting = subprocess.Popen(
        [command, "submit", *nats, "--batch", "goal", "--list", folder / "list", "--size", "64x", "--json", "--quiet",
         "--to", "{index:05}-{name}.jpg"], stdout=subprocess.PIPE, text=True)
    if options.restart_server:
        threading.Timer(5, server.restart).start()
    lines = [json.loads(line) for line in submitting.stdout]
    status = submitting.wait()
    wall = time.monotonic() - begin
    ended.set()
    interfering.join()
    statuses = workers.stop()

    store = ask(server.port, "$JS.API.STREAM.INFO.KV_glp-results")["state"]
    queue = ask(server.port, "$JS.API.STREAM.INFO.GLP_JOBS")["state"]
    consumer = ask(server.port, "$JS.API.CONSUMER.INFO.GLP_JOBS.workers")
    dead = ask(server.port, "$JS.API.STREAM.INFO.GLP_DEAD")["state"]
    server.process.kill()
    server.process.wait()

    expected = {f"{number + 1:05}-p{number:05}.jpg" for number in range(options.pictures)}
    found = {str(path.relative_to(results)) for path in results.rglob("*") if path.is_file()}
    damaged = [name for name in expected & found if (size_of((results / name).read_bytes()) or (0,))[0] != 64]
    ids = [line["id"] for line in lines]
    return {
        "pictures": options.pictures, "workers": options.workers, "seconds": round(wall, 1),
        "pictures a second": round(options.pictures / wall, 1), "kills": workers.kills,
        "submit's status": status, "workers' statuses after SIGTERM": statuses,
        "missing": len(expected - found), "damaged": len(damaged), "left over": len(found - expected),
        "jobs reported": len(set(ids)), "reported twice": len(ids) - len(set(ids)),
        # Each record and the batch's own is a message of the bucket; more would be records stored again.
        "records stored": store["last_seq"] - 1, "records twice": store["last_seq"] - 1 - len(set(ids)),
        "deliveries": consumer["delivered"]["consumer_seq"],
        "redeliveries": consumer["delivered"]["consumer_seq"] - options.pictures,
        "done on a later delivery": sum(line["deliveries"] > 1 for line in lines),
        "most deliveries": max((line["deliveries"] for line in lines), default=0),
        "failed": sum(line["state"] != "done" for line in lines), "dead letters": dead["messages"],
        "left in the queue": queue["messages"],
    }


def main():
    options = arguments()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="glpreview-jobs-"))
    try:
        report = run(options, folder)
    finally:
        if os.environ.get("KEEP"):
            print(folder, file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(report, indent=2))
    bad = ["missing", "damaged", "left over", "reported twice", "records twice", "failed", "dead letters",
           "left in the queue", "submit's status"]
    sys.exit(any(report[key] for key in bad) or any(report["workers' statuses after SIGTERM"]))


main()
