"""The plan of a run: which faults come, made of the seed and the sizes alone, so the same seed does the same again."""
import random
from dataclasses import dataclass, field

OF_NODES = ["kill", "partition", "stop", "restart", "mute", "deaf", "one-way", "clock", "same-name"]
OF_STORE = ["server-kill", "server-stop", "server-partition", "slow", "lossy", "full", "bucket-deleted"]
STEPS = [3600, -3600, 86400, -172800, 10 * 365 * 86400, -5, 5]


@dataclass
class Action:
    kind: str
    # How long it lasts, unless it is over when others have taken what is to be taken.
    seconds: float
    seed: int
    words: dict = field(default_factory=dict)

    def __str__(self):
        return f"{self.kind} {self.seconds:.0f} s {' '.join(f'{key}={value}' for key, value in self.words.items())}".rstrip()


def plan(seed, faults, servers, kinds=None):
    """Faults one after another: each kind once in a random order, then again. A short run has a node that dies, one that is
    cut off, and a store that dies."""
    source = random.Random(seed)
    every = kinds or OF_NODES + OF_STORE + (["leader-kill"] if servers > 1 else [])
    order = []
    if faults <= 3 and not kinds:
        order = [["kill", "partition", "server-kill"], ["stop", "mute", "server-stop"], ["kill", "one-way", "bucket-deleted"]][(seed - 1) % 3]
    while len(order) < faults:
        order += source.sample(every, len(every))
    return [_action(source, kind) for kind in order[:faults]]


def _action(source, kind):
    seconds = {"server-stop": 5, "server-kill": source.uniform(2, 15), "leader-kill": source.uniform(2, 15), "clock": 4,
               "restart": 0, "bucket-deleted": 3, "slow": 12, "lossy": 12, "full": 8}.get(kind, source.uniform(12, 18))
    words = {}
    if kind == "clock":
        words = {"step": source.choice(STEPS)}
    elif kind == "slow":
        words = {"delay": source.choice([0.2, 0.5, 1.0])}
    elif kind == "lossy":
        words = {"loss": source.choice([0.1, 0.3])}
    return Action(kind, seconds, source.getrandbits(32), words)
