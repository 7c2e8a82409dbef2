"""What happened, in order: events of nodes' logs, of faults and of probes, with the harness's own clock."""
import json
import os
import threading
import time

from holdings import Holdings


class Journal:
    def __init__(self, folder):
        self.start, self.events, self._lock = time.monotonic(), [], threading.Lock()
        self._holdings, self._without_store = Holdings([]), set()
        self._file = open(os.path.join(folder, "events.jsonl"), "w", encoding="utf-8")

    def seconds(self):
        return time.monotonic() - self.start

    def add(self, what, **fields):
        with self._lock:
            event = {"t": round(self.seconds(), 3), "what": what} | fields
            self.events.append(event)
            self._holdings.take(event)
            if what in ("start", "store-lost"):
                self._without_store.add(event["key"])
            elif what in ("store-reached", "end"):
                self._without_store.discard(event["key"])
            self._file.write(json.dumps(event) + "\n")
            self._file.flush()
        return event

    def holders(self, camera):
        """The processes that hold a camera now, and are reached by others."""
        with self._lock:
            return set(self._holdings.holders(camera))

    def reaches_store(self, key):
        with self._lock:
            return key not in self._without_store

    def all(self):
        with self._lock:
            return list(self.events)
