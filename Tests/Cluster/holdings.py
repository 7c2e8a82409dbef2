"""Who held which camera when, and which nodes were well: followed through a journal."""
import collections

FOREVER = float("inf")
# What two logs that are read at once may differ by. A camera that is handed over in order has no owner for no longer.
SKEW = 0.3


class Holdings:
    """`gaps` are (camera, from, to) with no owner that others reach; `doubles` are (camera, from, to, how many).

    By camera and process, `held` are the times [from, to] when it had the camera; `reached` are those when others reached it.
    """

    def __init__(self, moving):
        self.moving, self.ever = moving, set()
        self.gaps, self.doubles = [], []
        self.held, self.reached = collections.defaultdict(list), collections.defaultdict(list)
        # Processes that run, stand still, are cut off; what they hold.
        self._running, self._still, self._cut = set(), set(), set()
        self._held = collections.defaultdict(set)
        self._alone, self._shared = {}, {}
        # By node's name: the times when it was running, and when it was well.
        self._spans = {"running": collections.defaultdict(list), "well": collections.defaultdict(list)}
        self._names = {}

    def follow(self, events):
        for event in events:
            if self.take(event):
                self._look(event["t"])
        end = events[-1]["t"] if events else 0
        for camera, began in self._alone.items():
            self.gaps.append((camera, began, end))
        for camera, (began, count) in self._shared.items():
            self.doubles.append((camera, began, end, count))
        return self

    def holders(self, camera):
        """The processes that hold a camera now, and are reached."""
        return self._held[camera] - self._still - self._cut

    def take(self, event):
        """Whether anything about holding has changed."""
        what, key = event["what"], event.get("key")
        if what == "start":
            self._names[key] = event["node"]
            self._running.add(key)
        elif what in ("end", "died"):
            for kept in (self._running, self._still, self._cut):
                kept.discard(key)
            for holders in self._held.values():
                holders.discard(key)
        elif what == "pause":
            self._still.add(key)
        elif what == "continue":
            self._still.discard(key)
        elif what == "cut":
            self._cut.add(key)
        elif what == "join":
            self._cut.discard(key)
        elif what == "taken":
            # The last lines of a process that was killed may be read after it.
            if key in self._running:
                self._held[event["camera"]].add(key)
                self.ever.add(event["camera"])
        elif what in ("released", "yielded"):
            self._held[event["camera"]].discard(key)
        elif what == "displaced":
            for holders in self._held.values():
                holders.discard(key)
        else:
            return False
        self._follow_nodes(event["t"])
        return True

    def _look(self, now):
        for camera in self.moving:
            holding = self._held[camera] - self._still
            self._follow_holders(self.held, camera, self._held[camera], now)
            self._follow_holders(self.reached, camera, holding - self._cut, now)
            if camera in self.ever and not holding - self._cut:
                self._alone.setdefault(camera, now)
            elif camera in self._alone:
                began = self._alone.pop(camera)
                if now - began > SKEW:
                    self.gaps.append((camera, began, now))
            before = self._shared.get(camera)
            if before and before[1] != max(len(holding), 1):
                if now - before[0] > SKEW:
                    self.doubles.append((camera, before[0], now, before[1]))
                del self._shared[camera]
            if len(holding) > 1 and camera not in self._shared:
                self._shared[camera] = (now, len(holding))

    def _follow_holders(self, times, camera, keys, now):
        for key in self._names:
            spans = times[camera, key]
            is_open = bool(spans) and spans[-1][1] == FOREVER
            if key in keys and not is_open:
                spans.append([now, FOREVER])
            elif key not in keys and is_open:
                spans[-1][1] = now

    # Nodes

    def _follow_nodes(self, now):
        well = self._running - self._still - self._cut
        for kind, keys in (("running", self._running), ("well", well)):
            names = {self._names[key] for key in keys}
            spans = self._spans[kind]
            for name in set(self._names.values()):
                is_open = bool(spans[name]) and spans[name][-1][1] == FOREVER
                if name in names and not is_open:
                    spans[name].append([now, FOREVER])
                elif name not in names and is_open:
                    spans[name][-1][1] = now

    def was_running(self, name, began, ended):
        """Whether a node's process ran at any time of these."""
        return any(start <= ended and end >= began for start, end in self._spans["running"][name])

    def was_well(self, name, began, ended):
        """Whether a node ran, moved and was not cut off, all of this time and long enough before to know the others."""
        return any(start + 5 <= began and end >= ended for start, end in self._spans["well"][name])
