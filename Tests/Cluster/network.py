"""Machines of a network of their own: a namespace each, joined by a bridge. All of it goes with the process that made it.

A machine that is cut off has its port of the bridge down. A cut in one direction is an entry for a neighbour that is not
there: frames to it are lost, without a word to the sender.
"""
import ctypes
import os
import shutil
import subprocess
import sys
import threading
import time

INSIDE = "GLPREVIEW_CLUSTER_NAMESPACE"
SUBNET = "10.77.0"
BRIDGE = f"{SUBNET}.254"
NOBODY = "02:00:00:00:00:ff"
CLONE_NEWNET = 0x40000000


def missing():
    """Why there can be no network of machines here; None if there can."""
    for program in ("ip", "unshare", "nsenter", "nats-server"):
        if not shutil.which(program):
            return f"there is no {program} (scripts/setup cluster)"
    probe = "ip link add glp0 type bridge && ip link add p0 type veth peer name p1 && ip link set p0 master glp0"
    tried = subprocess.run(_words() + ["sh", "-c", probe], capture_output=True, text=True)
    return f"no network namespaces: {tried.stderr.strip()}" if tried.returncode else None


def _words():
    """Root needs no namespace of users; others may be allowed one."""
    users = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *users, "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]


def enter():
    """Begins this program again in namespaces of its own, whose processes end with it."""
    if INSIDE in os.environ:
        return
    os.environ[INSIDE] = "1"
    os.execvp("unshare", _words() + [sys.executable] + sys.argv)


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


class Network:
    def __init__(self):
        self.machines = {}
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "glp0", "type", "bridge")
        run("ip", "address", "add", f"{BRIDGE}/24", "dev", "glp0")
        run("ip", "link", "set", "glp0", "up")

    def machine(self, name, number):
        self.machines[name] = machine = Machine(name, f"{SUBNET}.{number}")
        return machine


class Machine:
    """A namespace with one address."""

    def __init__(self, name, address):
        self.name, self.address, self.port = name, address, f"b-{name}"
        own = os.readlink("/proc/self/ns/net")
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL)
        self.path = f"/proc/{self._holder.pid}/ns/net"
        while os.readlink(self.path) == own:
            time.sleep(0.01)
        run("ip", "link", "add", "name", self.port, "type", "veth", "peer", "name", "eth0", "netns", str(self._holder.pid))
        run("ip", "link", "set", self.port, "master", "glp0", "up")
        self.run("ip", "address", "add", f"{address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "link", "set", "lo", "up")

    def words(self, *words):
        """A command line that runs here. It becomes the command, so its process is the command's."""
        return ["nsenter", f"--net={self.path}", *words]

    def run(self, *words):
        run(*self.words(*words))

    def thread(self, body, *arguments):
        """A thread whose sockets are this machine's."""
        def inside():
            with open(self.path, "rb") as file:
                if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            body(*arguments)

        thread = threading.Thread(target=inside, daemon=True)
        thread.start()
        return thread

    # Faults

    def cut(self):
        run("ip", "link", "set", self.port, "down")

    def join(self):
        run("ip", "link", "set", self.port, "up")

    def lose_to(self, address):
        """What this machine sends to an address is lost."""
        self.run("ip", "neigh", "replace", address, "lladdr", NOBODY, "dev", "eth0", "nud", "permanent")

    def reach(self, address):
        self.run("ip", "neigh", "del", address, "dev", "eth0")


def lose_from_bridge(machine):
    """What the bridge's own address, where the relays are, sends to a machine is lost."""
    run("ip", "neigh", "replace", machine.address, "lladdr", NOBODY, "dev", "glp0", "nud", "permanent")


def reach_from_bridge(machine):
    run("ip", "neigh", "del", machine.address, "dev", "glp0")
