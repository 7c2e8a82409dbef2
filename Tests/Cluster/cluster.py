"""Nodes, servers, probes and a plan: carries it out one fault at a time, and waits after each until all is well again."""
import os
import random
import threading
import time

from faults import Faults
from journal import Journal
from network import Network
from node import Cameras, Clock, Node
from pictures import PictureStore
from plan import Action
from probes import Prober, Watcher
from store import Store

# How long it may take until everything is as it should be, on a machine that has no time for us.
DEADLINE = 120
WATCHED = 2
# Snapshots that each node gives before the next fault.
ASKED = 8


class Cluster:
    def __init__(self, command, folder, options):
        self.command, self.folder, self.options, self.skipped = command, os.path.join(folder, "work"), options, []
        self.slots, self.over = options.slots, threading.Event()
        self.journal, self.network, self.clock = Journal(folder), Network(), None
        os.makedirs(self.folder)
        self.clock = Clock(self.folder)
        if not self.clock.library:
            self.skipped.append("clocks that step: there is no C compiler")
        names = [f"n{number}" for number in range(1, options.nodes + 1)]
        self.cameras = Cameras(names, options.cameras or 2 * options.nodes)
        self.store = Store(self.network, self.folder, options.servers)
        self.pictures = PictureStore(self.network, self.journal)
        self.nodes = [Node(command, self.network, self.folder, number, self.cameras, self.store.servers, self.journal, self.clock,
                           options.slots) for number in range(1, options.nodes + 1)]
        self.journal.add("cameras", moving=self.cameras.moving, fixed=self.cameras.fixed, widths=self.cameras.widths,
                         schedules=self.cameras.schedules, epoch=round(time.time() - self.journal.seconds(), 3))
        self.probers, self.rng = [], random.Random(options.seed)

    def say(self, words):
        print(f"cluster: {self.journal.seconds():5.0f} s: {words}", flush=True)

    def start(self):
        for node in self.nodes:
            node.start()
        interval = max(0.5, 0.08 * len(self.nodes))
        self.probers = [Prober(node, self.cameras, self.journal, self.over, interval, random.Random(self.rng.random()))
                        for node in self.nodes]
        for node in self.nodes[:WATCHED]:
            Watcher(node, f"fixed-{node.name}", self.journal, self.over)
        for node in self.nodes[-WATCHED:]:
            Watcher(node, self.cameras.moving[0], self.journal, self.over, moves=True)
        threading.Thread(target=self._sample, daemon=True).start()
        self.settle()

    def _sample(self):
        while not self.over.wait(0.5):
            for node in self.nodes:
                node.watch()

    def stop(self):
        """Ends all nodes in order, which is the last thing that they must do well."""
        self.over.set()
        threads = [threading.Thread(target=node.end) for node in self.nodes if node.is_up]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.store.stop()

    # Plans

    def through(self, actions):
        faults = Faults(self)
        for number, action in enumerate(actions, 1):
            if action.kind == "clock" and not self.clock.library:
                continue
            faults.carry_out(action, number)
            self.settle()

    def takeovers(self, kills):
        """Kills nodes that hold cameras, several at once, until there were so many."""
        faults, number, killed = Faults(self), 0, 0
        while killed < kills:
            holding = [node for node in self.nodes if self.held_by(node)]
            at_once = min(max(len(self.nodes) // 3, 1), 4, len(holding), kills - killed)
            number += 1
            faults.kill_all(Action("kill", 0, 0), number, self.rng.sample(holding, at_once))
            self.journal.add("healed")
            killed += at_once
            self._until("nodes do not come back", lambda: all(node.listening.is_set() for node in self.nodes))
            # They are to know each other, as nodes that die one at a time do.
            time.sleep(5)
            self.journal.add("settled")
        return killed

    # Looking

    def held_by(self, node):
        return [camera for camera in self.cameras.moving if node.key in self.journal.holders(camera)]

    def focus(self, cameras):
        for prober in self.probers:
            prober.focus = cameras

    def wait_for_owners(self, cameras):
        """Until all of these have an owner, or have had none for longer than they may."""
        end = time.monotonic() + 10 + self.options.patience + 1
        while time.monotonic() < end and not all(self.journal.holders(camera) for camera in cameras):
            time.sleep(0.1)

    def settle(self):
        """Waits until each camera has one owner, all nodes say so, and each gives the pictures that it is asked for."""
        self.focus([])
        well = self._until("nodes do not reach the store", self._reach_store)
        well = self._until("not each camera has one owner", self._have_owners) and well
        well = self._until("nodes list other owners", self._agree, self._listed) and well
        for prober in self.probers:
            names = list(self.cameras.widths)
            prober.ask_all(self.rng.sample(names, min(ASKED, len(names))))
        well = self._until("snapshots fail", lambda: all(prober.is_done for prober in self.probers), self._unanswered) and well
        for node in self.nodes:
            if use := node.use():
                self.journal.add("use", node=node.name, key=node.key, settled=True, **use)
        if well:
            self.journal.add("settled")

    def _until(self, what, condition, detail=lambda: ""):
        end = time.monotonic() + DEADLINE
        while not (done := condition()) and time.monotonic() < end and not self.over.is_set():
            time.sleep(0.2)
        if not done:
            reason = f"{what} {detail() or self._owners()}"
            self.say(reason)
            self.journal.add("unsettled", reason=reason[:500])
        return done

    def _reach_store(self):
        """All nodes and all cameras that move are in it: it may be a new one."""
        keys = len(self.nodes) + len(self.cameras.moving)
        return self.store.count("glp") >= keys and all(self.journal.reaches_store(node.key) for node in self.nodes)

    def _listed(self):
        return str({prober.node.name: prober.listing for prober in self.probers})

    def _owners(self):
        return str({camera: sorted(self.journal.holders(camera)) for camera in self.cameras.moving})

    def _unanswered(self):
        return str({prober.node.name: prober.first for prober in self.probers if not prober.is_done})

    def _have_owners(self):
        return all(len(self.journal.holders(camera)) == 1 for camera in self.cameras.moving)

    def _agree(self):
        owners = {camera: key.partition("/")[0] for camera in self.cameras.moving for key in self.journal.holders(camera)}
        return all(prober.listing == owners | self.cameras.fixed for prober in self.probers)
