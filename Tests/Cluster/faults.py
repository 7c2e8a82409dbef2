"""What a plan's actions do to nodes, servers and the network between them."""
import contextlib
import random
import signal
import time

import network
from node import Node


class Faults:
    def __init__(self, run):
        self.run, self.journal, self.store = run, run.journal, run.store
        self._visits = 0

    def carry_out(self, action, number):
        rng = random.Random(action.seed)
        getattr(self, "_" + action.kind.replace("-", "_"))(action, number, rng)
        self.journal.add("healed")

    def _begin(self, action, number, parts, **more):
        names = [part.name for part in parts]
        self.run.say(f"{action} {' '.join(names)}")
        self.journal.add("fault", kind=action.kind, number=number, parts=names, **more)

    def _last(self, action):
        time.sleep(action.seconds)

    def _holder(self, rng):
        """A node, one that holds cameras if there is any."""
        nodes = self.run.nodes
        holding = [node for node in nodes if self.run.held_by(node)]
        return rng.choice(holding or nodes)

    # Nodes

    def _kill(self, action, number, rng):
        victims = [self._holder(rng)]
        self.kill_all(action, number, victims)

    def kill_all(self, action, number, victims):
        """Kills nodes at once, waits until others have their cameras, and starts them again."""
        cameras = [camera for node in victims for camera in self.run.held_by(node)]
        self._begin(action, number, victims, cameras=cameras)
        self.run.focus(cameras)
        for node in victims:
            node.kill()
        self.run.wait_for_owners(cameras)
        for node in victims:
            node.start()

    def _stop(self, action, number, rng):
        node = self._holder(rng)
        self._begin(action, number, [node])
        self.run.focus(self.run.held_by(node))
        node.pause()
        self._last(action)
        node.resume()

    def _restart(self, action, number, rng):
        node = self._holder(rng)
        self._begin(action, number, [node])
        self.run.focus(self.run.held_by(node))
        node.end()
        node.start()

    def _partition(self, action, number, rng):
        node = self._holder(rng)
        self._begin(action, number, [node])
        self.run.focus(self.run.held_by(node))
        node.cut()
        self._last(action)
        node.join()

    def _mute(self, action, number, rng):
        """The store hears nothing of the node."""
        node = self._holder(rng)
        self._begin(action, number, [node])
        node.machine.lose_to(network.BRIDGE)
        self._last(action)
        node.machine.reach(network.BRIDGE)

    def _deaf(self, action, number, rng):
        """The node hears nothing of the store."""
        node = self._holder(rng)
        self._begin(action, number, [node])
        network.lose_from_bridge(node.machine)
        self._last(action)
        network.reach_from_bridge(node.machine)

    def _one_way(self, action, number, rng):
        """What one node sends to another is lost. Both reach the store, so nothing moves."""
        one, other = rng.sample(self.run.nodes, 2)
        self._begin(action, number, [one, other], excused=[one.name, other.name])
        one.machine.lose_to(other.machine.address)
        self._last(action)
        one.machine.reach(other.machine.address)

    def _clock(self, action, number, rng):
        node = self._holder(rng)
        self._begin(action, number, [node], step=action.words["step"])
        node.step_clock(action.words["step"])
        self._last(action)
        node.step_clock(0)

    def _same_name(self, action, number, rng):
        """Another machine with the name of one that is there."""
        node = self._holder(rng)
        self._visits += 1
        self._begin(action, number, [node])
        run = self.run
        other = Node(run.command, run.network, run.folder, 100 + self._visits, run.cameras, self.store.servers, self.journal,
                     run.clock, run.slots, name=node.name)
        other.start()
        self._last(action)
        other.kill()

    # The store

    def _any_server(self, rng):
        return rng.choice(self.store.servers)

    def _server_kill(self, action, number, rng):
        self._kill_server(action, number, self._any_server(rng))

    def _leader_kill(self, action, number, rng):
        self._kill_server(action, number, self.store.leader("glp"))

    def _kill_server(self, action, number, server):
        self._begin(action, number, [server])
        server.kill()
        self._last(action)
        server.start()

    def _server_stop(self, action, number, rng):
        server = self._any_server(rng)
        self._begin(action, number, [server])
        server.signal(signal.SIGSTOP)
        self._last(action)
        server.signal(signal.SIGCONT)

    def _server_partition(self, action, number, rng):
        server = self._any_server(rng)
        self._begin(action, number, [server])
        server.machine.cut()
        self._last(action)
        server.machine.join()

    def _slow(self, action, number, rng):
        self._relayed(action, number, f"delay {action.words['delay']}")

    def _lossy(self, action, number, rng):
        self._relayed(action, number, f"loss {action.words['loss']}")

    def _relayed(self, action, number, words):
        self._begin(action, number, self.store.servers)
        for server in self.store.servers:
            server.relay(words)
        self._last(action)
        for server in self.store.servers:
            server.relay("clear")

    def _full(self, action, number, rng):
        self._begin(action, number, self.store.servers)
        try:
            self.run.say(f"  the store is full after {self.store.fill() / 1e6:.1f} MB more")
            self._last(action)
        finally:
            with contextlib.suppress(OSError):
                self.store.empty()

    def _bucket_deleted(self, action, number, rng):
        self._begin(action, number, self.store.servers)
        self.store.delete("glp")
        self._last(action)
