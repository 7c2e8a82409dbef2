"""The NATS servers, each on a machine of its own behind a relay, and as much of a client as faults need."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

from network import BRIDGE

HERE = os.path.dirname(os.path.abspath(__file__))
TOKEN = "cluster-store"
PORT, FIRST_RELAY = 4222, 4300
MEMORY = 16 << 20


class Server:
    def __init__(self, network, folder, number, count):
        self.name, self.number = f"s{number}", number
        self.machine = network.machine(self.name, 250 + number)
        self.folder = os.path.join(folder, self.name)
        os.makedirs(self.folder)
        self.relay_port = FIRST_RELAY + number
        self.url = f"nats://{BRIDGE}:{self.relay_port}"
        self.process = None
        settings = {
            "server_name": self.name, "host": self.machine.address, "port": PORT, "authorization": {"token": TOKEN},
            "jetstream": {"store_dir": self.folder, "max_memory_store": MEMORY, "max_file_store": 64 << 20},
        }
        if count > 1:
            settings["cluster"] = {
                "name": "glp", "host": self.machine.address, "port": 6222, "no_advertise": True,
                "routes": [f"nats://{self.machine.address.rpartition('.')[0]}.{250 + each}:6222"
                           for each in range(1, count + 1) if each != number]}
        self.configuration = os.path.join(self.folder, "server.conf")
        with open(self.configuration, "w", encoding="utf-8") as file:
            json.dump(settings, file, indent=1)
        self._relay = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "relay.py"), BRIDGE, str(self.relay_port), self.machine.address, str(PORT)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._relay.stdout.readline()

    def start(self):
        with open(os.path.join(self.folder, "server.log"), "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.machine.words("nats-server", "-c", self.configuration),
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def relay(self, words):
        self._relay.stdin.write(words + "\n")
        self._relay.stdin.flush()

    def is_ready(self):
        """Whether JetStream answers here."""
        try:
            with Client(self.machine.address) as client:
                return "error" not in client.ask("$JS.API.INFO")
        except OSError:
            return False


class Store:
    def __init__(self, network, folder, count):
        self.servers = [Server(network, folder, number, count) for number in range(1, count + 1)]
        for server in self.servers:
            server.start()
        while not all(server.is_ready() for server in self.servers):
            time.sleep(0.2)

    def client(self):
        """A connection to a server that answers."""
        for server in self.servers:
            with contextlib.suppress(OSError):
                return Client(server.machine.address)
        raise OSError("no NATS server answers")

    def leader(self, bucket):
        """The server that leads a bucket; the only one, if there is one."""
        with self.client() as client:
            name = client.ask(f"$JS.API.STREAM.INFO.KV_{bucket}").get("cluster", {}).get("leader")
        return next((each for each in self.servers if each.name == name), self.servers[0])

    def count(self, bucket):
        """How many keys a bucket has; 0 where it is not there, or nobody answers."""
        try:
            with self.client() as client:
                return client.ask(f"$JS.API.STREAM.INFO.KV_{bucket}").get("state", {}).get("messages", 0)
        except OSError:
            return 0

    def delete(self, bucket):
        with self.client() as client:
            return client.ask(f"$JS.API.STREAM.DELETE.KV_{bucket}").get("success", False)

    def fill(self):
        """Leaves the servers no memory for anything else; returns how many bytes that took."""
        with self.client() as client:
            client.ask("$JS.API.STREAM.CREATE.BALLAST", {
                "name": "BALLAST", "subjects": ["ballast"], "storage": "memory", "num_replicas": len(self.servers)})
        total = 0
        for size in (500_000, 10_000, 200):
            # A server that is full may also answer nothing.
            with contextlib.suppress(OSError), self.client() as client:
                while "error" not in client.ask("ballast", body=b"x" * size) and total <= MEMORY:
                    total += size
        return total

    def empty(self):
        with self.client() as client:
            client.ask("$JS.API.STREAM.DELETE.BALLAST")

    def stop(self):
        for server in self.servers:
            if server.process and server.process.poll() is None:
                server.signal(signal.SIGCONT)
                server.kill()


class Client:
    """A connection that asks one thing at a time. OSError where there is no answer."""

    def __init__(self, address):
        self._socket = socket.create_connection((address, PORT), timeout=3)
        self._file = self._socket.makefile("rb")
        self._file.readline()
        self._send({"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "auth_token": TOKEN})

    def _send(self, words):
        self._socket.sendall(f"CONNECT {json.dumps(words)}\r\nSUB answers.{id(self)} 1\r\n".encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self._socket.close()

    def ask(self, subject, words=None, body=None):
        body = body if body is not None else json.dumps(words).encode() if words else b""
        self._socket.sendall(f"PUB {subject} answers.{id(self)} {len(body)}\r\n".encode() + body + b"\r\n")
        while line := self._file.readline().split():
            if line[0] == b"PING":
                self._socket.sendall(b"PONG\r\n")
            elif line[0] in (b"MSG", b"HMSG"):
                answer = self._file.read(int(line[-1]) + 2)[:-2]
                return {"error": "nobody answers"} if line[0] == b"HMSG" else json.loads(answer)
            elif line[0] == b"-ERR":
                raise OSError(b" ".join(line).decode())
        raise OSError("the server closed the connection")
