"""The plan of a soak: what is done when. It is made of the seed and the length alone, so the same seed does the same again."""
import random
from dataclasses import dataclass, field

import cameras

# Kinds of clients, and how often they come.
CLIENTS = {
    "snapshot": 20, "mask": 10, "capture": 14, "stream": 10, "multiplexed": 4, "events": 4, "api": 8, "metrics": 3, "patch": 6,
    "bad_words": 6, "bad_bytes": 6, "bad_token": 1, "login": 2, "never_reading": 3, "half_closed": 3, "leaving": 5,
    "slow_head": 2,
}
FLAKY = ["guest", "still", "child", "pipe"]
# What the configuration may become; `broken` has a mistake and changes nothing.
VARIANTS = ["base", "without", "other", "views", "broken"]
STEPS = ["+3600s", "-3600s", "+1d", "-2d", "+10y", "-3y", "+5s", "-5s"]
CLIENTS_A_SECOND = 4
# How long a quiet phase takes, about.
QUIET = 20


@dataclass
class Action:
    at: float
    kind: str
    words: dict = field(default_factory=dict)
    seed: int = 0

    def __str__(self):
        return f"{self.at:7.2f} {self.kind} {' '.join(f'{key}={value}' for key, value in self.words.items())}".rstrip()


@dataclass
class Cycle:
    """A busy time with its actions, and how it ends: `quiet`, `kill` (-9, after the quiet) or `end`."""
    length: float
    actions: list
    end: str = "quiet"


def plan(seed, seconds):
    """The cycles: those of a life are warm-up and at least two more where the time allows it."""
    source = random.Random(seed)
    length = min(max(seconds / 8, 12), 60)
    number = max(round(seconds / (length + QUIET)), 2)
    cycles = [Cycle(length, _actions(source, length)) for _ in range(number)]
    # A life of three cycles, and a longer one, in turn.
    place = 0
    for lasting in _lives(number):
        place += lasting
        if place < number:
            cycles[place - 1].end = "kill"
    cycles[-1].end = "end"
    return cycles


def _lives(number):
    if number < 6:
        return [number - number // 2, number // 2]
    lives = []
    while number > sum(lives):
        lives.append(3 if len(lives) % 2 == 0 else 12)
    # No last life that is only a warm-up.
    return lives if len(lives) < 2 or number - sum(lives[:-1]) > 1 else lives[:-1]


def _actions(source, length):
    def some(count, make):
        return [make(source.uniform(0, length)) for _ in range(max(round(count), 1))]

    clients = source.choices(list(CLIENTS), CLIENTS.values(), k=round(length * CLIENTS_A_SECOND))
    actions = [Action(source.uniform(0, length), kind) for kind in clients]
    actions += some(length / 3, lambda at: Action(
        at, "camera", {"name": (name := source.choice(FLAKY)), "mode": source.choice(
            ["good", "refuse", "stall"] if name == "pipe" else cameras.MODES + ["good"] * 6)}))
    actions += some(length / 5, lambda at: Action(at, "reload", {"variant": source.choice(VARIANTS)}))
    actions += some(length / 12, lambda at: Action(at, "file", {"mode": source.choice(["gone", "there", "cut"])}))
    actions += some(length / 20, lambda at: Action(at, "rtsp_drop"))
    actions += some(length / 20, lambda at: Action(at, "clock", {"step": source.choice(STEPS)}))
    actions += some(1, lambda at: Action(at * 0.6, "disk", {"seconds": round(source.uniform(2, 6), 1)}))
    actions.sort(key=lambda action: action.at)
    for action in actions:
        action.seed = source.getrandbits(32)
    return actions
