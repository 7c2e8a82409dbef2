"""What must hold, worked out from a journal alone: no clock, no network. `test_checker.py` has journals that must fail.

Events are dictionaries with `t` (seconds) and `what`:

    cameras moving=[...] fixed={camera: node} widths={camera: pixels}
            schedules={camera: seconds} epoch: the time of day, in seconds since 1970, when `t` was 0
    start, end (how, status), leave, pause, continue, cut, join, died     node, key: a node's name, and its process
    taken (camera, epoch), released, yielded (camera), displaced           as the process's log says
    picture (node, camera, name, moment, at, sum)          came to the store; `moment` is since 1970, `at` the same as `t` counts
    moment-missed, moment-failed (camera, reason), moments-resumed         of a schedule, as the process's log says
    fault (kind, number, parts=[...], excused=[nodes], step), healed, settled, unsettled (reason)       one fault at a time
    probe (node, camera, status, width, state, began)                      a snapshot, asked for at a node
    listing (node, cameras={camera: node})                                 which node a node says that a camera is at
    frames (node, camera, missed, pause), stream-ended     a stream of a local camera, watched at its node
    moving-stream-ended, moving-pause (node, camera, pause)      one of a camera that moves, and how long it had no live picture
    use (node, key, rss, descriptors, settled)                             a process's memory and descriptors
    error (node, message), bad-line (node, line), over                     `over`: from here on everything is ended in order
"""
import collections
from dataclasses import dataclass, field

from holdings import Holdings
from moments import Moments

# How long a movable camera may be without an owner after one fault.
TAKEOVER = 10.0
# How long two nodes may hold a camera when nothing parts them: one hands it to the other.
HANDOVER = 3.0
# How long after a partition the lower epoch may take to yield.
YIELD = 10.0
# How far apart failures of one outage are at most.
DENSE = 6.0
GROWTH, MORE_DESCRIPTORS = 128 << 20, 48
# Faults that part nodes from the store or from others: two may then think that they hold a camera.
PARTING = {"partition", "stop", "mute", "deaf", "server-partition", "server-stop", "server-kill", "leader-kill", "slow", "lossy",
           "full", "bucket-deleted", "same-name"}
# Faults of the store alone. Nothing of them may be seen by who watches a local camera.
OF_STORE = {"server-partition", "server-stop", "server-kill", "leader-kill", "slow", "lossy", "full", "bucket-deleted"}
# Faults whose errors in the log belong to them.
EXPECTED_ERRORS = {"same-name": "another process has this node's name"}


@dataclass
class Fault:
    """What one fault came to."""
    kind: str
    number: int
    began: float
    healed: float = None
    ended: float = float("inf")
    # Nodes that can't reach all others until it is healed.
    excused: tuple = ()
    # How many nodes or servers it hit at once, and which; the seconds by which it set a clock.
    parts: int = 1
    names: tuple = ()
    step: int = 0
    # Lengths of times without an owner, for cameras that had one; cameras that two held, with how long.
    gaps: list = field(default_factory=list)
    doubles: collections.Counter = field(default_factory=collections.Counter)
    # The longest time in which a node that reaches the rest could not give a snapshot.
    outage: float = 0.0
    missed: int = 0
    pause: float = 0.0
    # The longest time without a live picture in a stream of a camera that moves, at another node or the one that has it.
    moving_pause: float = 0.0
    violations: list = field(default_factory=list)


class Checker:
    def __init__(self, patience=5.0):
        self.patience, self.faults, self.violations = patience, [], []
        self.counts = collections.Counter()

    def check(self, events):
        events = sorted(events, key=lambda event: event["t"])
        first = next((event for event in events if event["what"] == "cameras"), None)
        if first is None or not first["moving"]:
            self._violation("nothing to check: no cameras", "", None)
            return self
        self.moving, self.fixed, self.widths = first["moving"], first["fixed"], first["widths"]
        self._find_faults(events)
        # What comes after that is the end of all nodes.
        last = next((event["t"] for event in events if event["what"] == "over"), float("inf"))
        holdings = Holdings(self.moving).follow([event for event in events if event["t"] <= last])
        self._check_epochs(events)
        self._check_gaps(holdings)
        self._check_doubles(holdings)
        self._check_fixed(events, holdings)
        self._check_probes(events, holdings)
        self._check_rest(events, last)
        if schedules := first.get("schedules"):
            Moments(schedules, first["epoch"], self.faults, holdings, self.patience, self.counts, self._violation).check(
                events, min(last, events[-1]["t"]))
        return self

    def _violation(self, what, detail, at):
        self.violations.append((what, detail))
        fault = at is not None and self._fault(at)
        if fault:
            fault.violations.append(f"{what}: {detail}")

    # Faults

    def _find_faults(self, events):
        # Before the first fault everything comes up, which is like one.
        self.faults = [Fault("start", 0, events[0]["t"])]
        for event in events:
            if event["what"] == "fault":
                self.faults[-1].ended = event["t"]
                self.faults.append(Fault(event["kind"], event["number"], event["t"], excused=tuple(event.get("excused", ())),
                                         parts=len(event.get("parts", [0])), names=tuple(event.get("parts", ())),
                                         step=event.get("step", 0)))
            elif event["what"] == "healed":
                self.faults[-1].healed = event["t"]
            elif event["what"] == "unsettled":
                self._violation("not all is well again after a fault", event["reason"], event["t"])

    def _fault(self, at):
        found = None
        for fault in self.faults:
            if fault.began <= at:
                found = fault
        return found

    # Owners

    def _check_epochs(self, events):
        """No two processes ever hold one epoch of a camera, and epochs only grow."""
        holders, highest = {}, {}
        for event in events:
            if event["what"] != "taken":
                continue
            camera, epoch, key = event["camera"], event["epoch"], event["key"]
            if camera in self.fixed and event["node"] != self.fixed[camera]:
                self._violation("a camera that never moves was taken by another node", f"{camera} by {key}", event["t"])
            if holders.setdefault((camera, epoch), key) != key:
                self._violation("two holders of one epoch", f"{camera} {epoch}: {holders[camera, epoch]}, {key}", event["t"])
            elif epoch < highest.get(camera, 0):
                self._violation("an epoch is lower than one before it", f"{camera} {epoch} by {key}", event["t"])
            highest[camera] = max(highest.get(camera, 0), epoch)
            self.counts["taken"] += 1

    def _check_gaps(self, holdings):
        for camera, began, ended in holdings.gaps:
            fault = self._fault(began)
            length = ended - began
            if fault.kind != "start":
                fault.gaps.append(length)
            if length > TAKEOVER + self.patience:
                self._violation("a camera has no owner for too long", f"{camera}: {length:.1f} s from {began:.1f} s", began)
        for camera in self.moving:
            if camera not in holdings.ever:
                self._violation("a camera never had an owner", camera, None)

    def _check_doubles(self, holdings):
        for camera, began, ended, count in holdings.doubles:
            fault = self._fault(began)
            fault.doubles[camera] += ended - began
            if count > 2:
                self._violation("more than two owners", f"{camera}: {count} at {began:.1f} s", began)
            if fault.kind in PARTING:
                limit = (fault.healed if fault.healed is not None else fault.ended) + YIELD + self.patience
            else:
                limit = began + HANDOVER + self.patience
            if ended > limit:
                self._violation("two owners for too long", f"{camera}: {ended - began:.1f} s from {began:.1f} s", began)

    def _check_fixed(self, events, holdings):
        """A camera that never moves is at its node or nowhere: no other opens its device."""
        for event in events:
            if event["what"] == "listing":
                for camera, home in self.fixed.items():
                    if event["cameras"].get(camera, home) != home:
                        self._violation("a camera that never moves is elsewhere",
                                        f"{camera} at {event['cameras'][camera]}, says {event['node']}", event["t"])
            elif event["what"] == "probe" and event["status"] == 200 and event["camera"] in self.fixed:
                if not holdings.was_running(self.fixed[event["camera"]], event["began"] - HANDOVER, event["t"]):
                    self._violation("a camera that never moves is served without its node",
                                    f"{event['camera']} at {event['node']}", event["t"])

    # Probes

    def _check_probes(self, events, holdings):
        failing = {}
        for event in events:
            if event["what"] != "probe":
                continue
            node, camera, began, now = event["node"], event["camera"], event["began"], event["t"]
            self.counts["probes"] += 1
            if event["status"] == 200 and event["width"] != self.widths[camera]:
                self._violation("a picture of another camera", f"{camera} at {node}: {event['width']} pixels wide", now)
            # Who is cut off, stands still or has just come owes nothing; neither does a camera whose only node is away.
            owes = holdings.was_well(node, began - 0.5, now) and (
                camera not in self.fixed or holdings.was_well(self.fixed[camera], began - 0.5, now)) and (
                not self._is_excused(node, began))
            if event["status"] == 200 or not owes:
                failing.pop((node, camera), None)
                continue
            self.counts["probes that failed"] += 1
            since, last = failing.get((node, camera), (began, began))
            # Nobody knows what was between failures that are far apart.
            since = since if began - last <= DENSE else began
            failing[node, camera] = (since, now)
            self._outage(since, now)
            # A request that waits until it gives up has failed when it began.
            if began - since > TAKEOVER + self.patience:
                self._violation("a node that reaches the rest gives no snapshot",
                                f"{camera} at {node} since {since:.1f} s: {event['status']}", since)
                failing[node, camera] = (began, now)

    def _is_excused(self, node, at):
        fault = self._fault(at)
        return node in fault.excused and at < (fault.healed if fault.healed is not None else fault.ended) + YIELD

    def _outage(self, since, now):
        fault = self._fault(since)
        fault.outage = max(fault.outage, now - since)

    # The rest

    def _check_rest(self, events, last):
        base, ends = {}, {"kill", "term"}
        for event in events:
            what, now = event["what"], event["t"]
            if what == "died":
                self._violation("a node ended by itself", f"{event['key']}: status {event['status']} {event.get('crash', '')}", now)
            elif what == "end" and (event["how"] not in ends or event.get("status", 0) != 0):
                self._violation("SIGTERM did not end a node well", f"{event['key']}: status {event.get('status')}", now)
            elif what == "bad-line":
                self._violation("a line of the log is none", f"{event['node']}: {event['line']}", now)
            elif what == "error":
                expected = EXPECTED_ERRORS.get(self._fault(now).kind)
                if not expected or expected not in event["message"]:
                    self._violation("a node logged an error", f"{event['node']}: {event['message']}", now)
            elif what == "frames":
                self._check_frames(event)
            elif what == "stream-ended" and now <= last:
                if self._fault(now).kind in OF_STORE:
                    self._violation("a stream of a local camera ended because of the store", f"{event['camera']}", now)
            elif what == "moving-pause" and now <= last:
                # The last picture before it may have come just before the fault.
                fault = self._fault(now - event["pause"] + 1)
                fault.moving_pause = max(fault.moving_pause, event["pause"])
            elif what == "moving-stream-ended" and now <= last:
                self.counts["streams of cameras that move that ended"] += 1
            elif what == "use" and event["settled"]:
                self._check_use(base, event)

    def _check_frames(self, event):
        fault = self._fault(event["t"])
        fault.missed += event["missed"]
        fault.pause = max(fault.pause, event["pause"])
        if fault.kind in OF_STORE and event["pause"] > 1 + self.patience:
            self._violation("a stream of a local camera stood still because of the store",
                            f"{event['camera']}: {event['pause']:.1f} s", event["t"])

    def _check_use(self, base, event):
        """The first two looks are warm-up."""
        known = base.setdefault(event["key"], [])
        known.append(event)
        warm = known[:2]
        if event["rss"] > max(each["rss"] for each in warm) + GROWTH:
            self._violation("memory grows", f"{event['key']}: {event['rss'] / 1e6:.0f} MB", event["t"])
        if event["descriptors"] > max(each["descriptors"] for each in warm) + MORE_DESCRIPTORS:
            self._violation("descriptors grow", f"{event['key']}: {event['descriptors']}", event["t"])
