"""What happened: how often what was done, what must not have happened, what was not checked, and the curves."""
import collections
import csv
import os
import threading
import time

SECRET = "SOAKSECRET"
EXAMPLES = 5
COLUMNS = ["seconds", "life", "phase", "rss_mb", "descriptors", "threads", "children", "requests", "refused", "violations",
           "health_ms"]


class Ledger:
    """Counts for all threads."""

    def __init__(self, folder):
        self.folder, self.start = folder, time.monotonic()
        self.counts, self.statuses = collections.Counter(), collections.Counter()
        self.violations, self.skipped, self.rows, self.health = {}, {}, [], []
        self.memory = []
        self._lock = threading.Lock()

    def seconds(self):
        return time.monotonic() - self.start

    def count(self, what, by=1):
        with self._lock:
            self.counts[what] += by

    def status(self, status):
        with self._lock:
            self.statuses[status] += 1

    def skip(self, what, why):
        """Something that the soak is to do, and can't do here: the summary says so."""
        with self._lock:
            new = what not in self.skipped
            self.skipped[what] = why
        if new:
            print(f"soak: SKIPPED: {what}: {why}", flush=True)

    def violation(self, kind, detail=""):
        """Something that must never happen."""
        with self._lock:
            number, examples = self.violations.setdefault(kind, [0, []])
            self.violations[kind][0] = number + 1
            if len(examples) < EXAMPLES:
                examples.append(f"{self.seconds():.1f} s: {detail}"[:600])
                print(f"soak: VIOLATION: {kind}: {examples[-1]}", flush=True)

    def number_of_violations(self):
        return sum(number for number, _ in self.violations.values())

    def check_secrets(self, where, data):
        """No password, token or query value may be in what leaves the service."""
        marker = SECRET.encode() if isinstance(data, bytes) else SECRET
        if marker in data:
            at = data.index(marker)
            self.violation("a secret left the service", f"{where}: {data[max(at - 80, 0):at + 20]!r}")

    def sample(self, life, phase, state):
        """A point of the curves."""
        with self._lock:
            health = max((ms for at, ms in self.health if at > self.seconds() - 2), default=0)
            requests = sum(self.statuses.values())
            refused = sum(number for status, number in self.statuses.items() if status >= 400)
            self.rows.append([round(self.seconds(), 1), life, phase, round(state["rss"] / 1e6, 1), state["descriptors"],
                              state["threads"], state["children"], requests, refused, self.number_of_violations(),
                              round(health, 1)])

    # The report

    def report(self, seed, seconds):
        """What is printed at the end; the curves are in `curves.csv` in full."""
        with open(os.path.join(self.folder, "curves.csv"), "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([COLUMNS] + self.rows)
        lines = ["", f"## Curves: seed {seed}, {seconds} s", "", "| " + " | ".join(COLUMNS) + " |",
                 "|" + "--:|" * len(COLUMNS)]
        step = max(len(self.rows) / 24, 1)
        picked = sorted({int(number * step) for number in range(24)} | {len(self.rows) - 1})
        lines += ["| " + " | ".join(map(str, self.rows[i])) + " |" for i in picked if 0 <= i < len(self.rows)]
        lines += ["", "Memory after each quiet phase, MB (life: values): "
                  + "; ".join(f"{life}: {' '.join(f'{value / 1e6:.0f}' for value in values)}"
                              for life, values in self._by_life())]
        latencies = sorted(ms for _, ms in self.health)
        if latencies:
            at = lambda share: latencies[min(int(len(latencies) * share), len(latencies) - 1)]
            lines += [f"/healthz: {len(latencies)} answers; median {at(0.5):.1f} ms, 99% {at(0.99):.1f} ms, worst {at(1):.1f} ms"]
        lines += ["Answers: " + ", ".join(f"{status}: {number}" for status, number in sorted(self.statuses.items())), "",
                  "## Done", ""]
        lines += [f"- {what}: {number}" for what, number in sorted(self.counts.items())]
        lines += ["", "## Skipped", ""] + ([f"- {what}: {why}" for what, why in self.skipped.items()] or ["- nothing"])
        lines += ["", "## Violations", ""]
        for kind, (number, examples) in sorted(self.violations.items()):
            lines += [f"- {kind}: {number}"] + [f"    - {example}" for example in examples]
        lines += [] if self.violations else ["- none"]
        text = "\n".join(lines) + "\n"
        with open(os.path.join(self.folder, "report.md"), "w", encoding="utf-8") as file:
            file.write(text)
        return text

    def _by_life(self):
        lives = collections.defaultdict(list)
        for life, value in self.memory:
            lives[life].append(value)
        return sorted(lives.items())
