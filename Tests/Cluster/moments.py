"""Checks the pictures of schedules, from a journal alone: each moment is stored once, by a node that has the camera.

docs/schedules.md promises: "The name has the moment, not the time of capture. [...] A picture that is sent again, or taken by
two nodes, is the same object." "A picture is the first frame that was captured at or after its moment, never an older one."
"The node that serves a camera takes its pictures [...] While a camera moves to another node, moments may be missed."
Pictures have no time of capture. A picture is too old if it comes before its moment, or is byte by byte that of the moment
before: the cameras stay open and their frames are numbered.
"""
import collections

from holdings import SKEW

# How long a node serves a camera that it has handed over; how long after a fault its pictures may be missing.
HANDOVER, RECOVERY = 3.0, 10.0
# Moments of the time that a node may take nothing of a camera, if it says that it is too busy.
BUSY_FOR = 10.0
# Pictures with equal bytes this far apart are not of one frame: the camera may have been opened again.
NEAR = 10.0
# Faults of a node that keep its pictures from the store, or change the moments themselves.
OF_SENDER = {"partition", "stop", "mute", "deaf", "clock", "same-name"}
# Reasons by which a node misses a moment that have to do with its machine alone (`Scheduler.swift`).
BUSY = ("the picture before it is still being taken", "too many others are being taken",
        "the machine or its clock passed over it")
# A reason by which a moment fails although the camera works: its frame came too late.
LATE = "no frame was captured in time"


class Moments:
    """`violation` is called with what is wrong, a detail and a time; `counts` has what was found."""

    def __init__(self, schedules, epoch, faults, holdings, patience, counts, violation):
        self.schedules, self.epoch, self.faults, self.holdings = schedules, epoch, faults, holdings
        self.patience, self.counts, self.violation = patience, counts, violation
        self._busy, self._joining = collections.defaultdict(list), collections.defaultdict(list)

    def check(self, events, last):
        stored, pictures = collections.defaultdict(list), [each for each in events if each["what"] == "picture"]
        self._follow(events)
        for event in events:
            if event["what"] == "picture-error":
                self.violation("the store of pictures failed", event["reason"], event["t"])
        for picture in pictures:
            self.counts["pictures stored"] += 1
            camera = picture["camera"]
            if picture["moment"] is None or picture["moment"] % self.schedules.get(camera, 1):
                self.violation("a picture has the name of no moment", f"{camera} {picture['name']}", picture["t"])
                continue
            at, step = self._time(picture)
            if not self._may_take(camera, picture["node"], at):
                self.violation("a picture is of a node that does not have the camera",
                               f"{camera} {picture['name']} of {picture['node']}, taken at {at:.1f} s", picture["t"])
            # A clock that was set wrong names times that are others' moments too.
            if step:
                self.counts["pictures by a wrong clock"] += 1
                continue
            if picture["t"] < at - 0.05:
                self.violation("a picture is older than its moment",
                               f"{camera} {picture['name']} of {picture['node']} came {at - picture['t']:.1f} s before it", at)
            stored[camera, picture["moment"]].append(picture)
        self._check_names(stored)
        self._check_frames(stored)
        for camera, every in self.schedules.items():
            self._check_missing(camera, every, {moment for name, moment in stored if name == camera}, last)

    def _time(self, picture):
        """When a picture was taken by the journal's clock, and by how much the clock of its node was wrong."""
        steps = [0] + [fault.step for fault in self.faults if fault.step and picture["node"] in fault.names
                       and fault.began <= picture["t"] <= self._end(fault)]
        step = min(steps, key=lambda step: abs(picture["t"] - picture["at"] + step))
        return picture["at"] - step, step

    def _end(self, fault):
        return (fault.healed if fault.healed is not None else fault.ended) + RECOVERY + self.patience

    # Who takes

    def _follow(self, events):
        """When a node said that it is too busy for a camera's moments, and when a process did not know of the others yet."""
        for event in events:
            what, key, t = event["what"], event.get("key"), event["t"]
            if what == "moment-missed" and event["reason"].startswith(BUSY) or (
                    what == "moment-failed" and event["reason"].startswith(LATE)):
                # Those of a clock that was set are no moments.
                count = 1 if self._is_excused(event["node"], t) else event.get("count", 1)
                self._busy[key, event["camera"]].append([t - (count + 1) * self.schedules.get(event["camera"], 1), float("inf")])
            elif what in ("moment-missed", "moment-failed", "moments-resumed", "released", "yielded"):
                self._close(self._busy[key, event["camera"]], t)
            elif what in ("end", "displaced"):
                for (busy, _), spans in self._busy.items():
                    self._close(spans if busy == key else [], t)
            if what == "start":
                self._joining[key].append([t, float("inf")])
            elif what in ("store-reached", "taken", "end"):
                self._close(self._joining[key], t)

    @staticmethod
    def _close(spans, t):
        for span in spans:
            span[1] = min(span[1], t)

    def _may_take(self, camera, node, at):
        """Whether a node has a camera, or serves all because it has not reached the store of leases since its start."""
        since, until = at - HANDOVER - self.patience, at + SKEW + self.patience
        spans = [span for (name, key), spans in self.holdings.held.items() if name == camera and machine(key) == node
                 for span in spans]
        spans += [span for key, spans in self._joining.items() if machine(key) == node for span in spans]
        return any(start <= until and end >= since for start, end in spans)

    def _is_excused(self, node, at):
        return any(fault.kind in OF_SENDER and node in fault.names and fault.began - HANDOVER <= at <= self._end(fault)
                   for fault in self.faults)

    # The pictures

    def _check_names(self, stored):
        for (camera, _), pictures in stored.items():
            sums = collections.defaultdict(set)
            for picture in pictures:
                sums[picture["node"]].add(picture["sum"])
            self.counts["pictures sent again"] += len(pictures) - sum(len(each) for each in sums.values())
            self.counts["moments that two nodes took"] += len(sums) > 1
            for node, each in sums.items():
                if len(each) > 1:
                    self.violation("a node took a moment twice", f"{camera} {pictures[0]['name']} of {node}", pictures[-1]["t"])

    def _check_frames(self, stored):
        before = {}
        for (camera, moment), pictures in sorted(stored.items()):
            for picture in pictures:
                sender = (camera, picture["node"])
                last = before.get(sender)
                if last and last["moment"] != moment and last["sum"] == picture["sum"] and self._is_one_time(last, picture):
                    self.violation("a picture is older than its moment",
                                   f"{camera} {picture['name']} of {picture['node']} is that of {last['name']}", picture["t"])
                before[sender] = picture

    def _is_one_time(self, one, other):
        """Whether the camera stayed with one process from one moment to the other."""
        spans = [span for (camera, key), spans in self.holdings.held.items()
                 if camera == one["camera"] and machine(key) == one["node"] for span in spans]
        return other["at"] - one["at"] <= NEAR and any(
            start <= one["at"] and end >= other["at"] for start, end in spans)

    # What is missing

    def _check_missing(self, camera, every, stored, last):
        busy_since = None
        first = -(-int(self.epoch + 1) // every) * every
        for moment in range(first, int(self.epoch + last - HANDOVER - self.patience) + 1, every):
            at = moment - self.epoch
            owing = [] if moment in stored else self._owing(camera, at)
            if moment in stored:
                self.counts["moments stored"] += 1
            elif not owing:
                self.counts["moments missed in faults"] += 1
            elif any(start <= at <= end for key in owing for start, end in self._busy.get((key, camera), ())):
                self.counts["moments missed by busy nodes, as they say"] += 1
                busy_since = at if busy_since is None else busy_since
                if at - busy_since <= BUSY_FOR + self.patience:
                    continue
                self.violation("a node is too busy for a camera's moments for too long",
                               f"{camera} at {owing[0]} since {busy_since:.1f} s", at)
            else:
                self.violation("a moment is missing", f"{camera} at {at:.1f} s, of {owing[0]}", at)
            busy_since = None

    def _owing(self, camera, at):
        """The processes that owe a picture: they have the camera long enough before and after, and nothing keeps them."""
        since, until = at - HANDOVER - self.patience, at + HANDOVER + self.patience
        return [key for (name, key), spans in self.holdings.reached.items()
                if name == camera and any(start <= since and end >= until for start, end in spans)
                and not self._is_excused(machine(key), at)]


def machine(key):
    return key.partition("/")[0]
