"""The checker with made-up journals: what is well passes, and each thing that must not be is found."""
import unittest

from checker import Checker
from report import table


def journal(*events, nodes=("n1", "n2", "n3")):
    """Three nodes; n1 holds `cam1` and n2 `cam2`, each with a fixed camera; then these events."""
    cameras = {"cam1": 160, "cam2": 176} | {f"fixed-{node}": 192 + 16 * place for place, node in enumerate(nodes)}
    first = [{"t": 0, "what": "cameras", "moving": ["cam1", "cam2"], "fixed": {f"fixed-{node}": node for node in nodes},
              "widths": cameras}]
    first += [event(0.1, "start", node) for node in nodes]
    first += [event(4, "taken", "n1", camera="cam1", epoch=1), event(4, "taken", "n2", camera="cam2", epoch=1)]
    return first + [event(10, "settled", None)] + list(events)


def event(t, what, node, life=1, **fields):
    named = {"node": node, "key": f"{node}/{life}"} if node else {}
    return {"t": t, "what": what} | named | fields


def fault(t, kind, number=1):
    return {"t": t, "what": "fault", "kind": kind, "number": number}


def probe(t, node, camera, status=200, width=None, took=0.1):
    widths = {"cam1": 160, "cam2": 176, "fixed-n1": 192, "fixed-n2": 208, "fixed-n3": 224}
    return {"t": t, "what": "probe", "node": node, "camera": camera, "status": status, "began": t - took,
            "width": (width or widths[camera]) if status == 200 else 0}


class Case(unittest.TestCase):
    def check(self, *events, patience=1.0):
        return Checker(patience).check(journal(*events))

    def assertFinds(self, words, *events):
        found = [what for what, _ in self.check(*events).violations]
        self.assertIn(words, found)

    def assertHolds(self, *events):
        checker = self.check(*events)
        self.assertEqual(checker.violations, [])
        return checker


class Holding(Case):
    def test_a_takeover_in_time(self):
        checker = self.assertHolds(fault(20, "kill"), event(20, "end", "n1", how="kill"),
                                   event(29, "taken", "n3", camera="cam1", epoch=2), event(60, "settled", None))
        self.assertEqual(checker.faults[1].gaps, [9])

    def test_a_takeover_too_late(self):
        self.assertFinds("a camera has no owner for too long", fault(20, "kill"), event(20, "end", "n1", how="kill"),
                         event(31.5, "taken", "n3", camera="cam1", epoch=2))

    def test_a_camera_that_nobody_takes(self):
        self.assertFinds("a camera has no owner for too long", fault(20, "kill"), event(20, "end", "n1", how="kill"),
                         event(60, "settled", None))

    def test_the_end_of_all_is_no_gap_but_a_bad_end_is_seen(self):
        over = {"t": 40, "what": "over"}
        self.assertHolds(over, event(41, "end", "n1", how="term", status=0), event(60, "end", "n2", how="term", status=0))
        self.assertFinds("SIGTERM did not end a node well", over, event(41, "end", "n1", how="term", status=-11))

    def test_a_camera_that_never_had_an_owner(self):
        events = [each for each in journal() if each.get("camera") != "cam2"]
        self.assertIn("a camera never had an owner", [what for what, _ in Checker().check(events).violations])

    def test_a_journal_without_cameras_is_no_pass(self):
        self.assertTrue(Checker().check([event(0, "start", "n1")]).violations)

    def test_what_a_killed_process_wrote_last_holds_nothing(self):
        self.assertFinds("a camera has no owner for too long", fault(20, "kill"), event(20, "end", "n1", how="kill"),
                         event(20.1, "taken", "n1", camera="cam1", epoch=2), event(60, "settled", None))

    def test_a_stopped_node_is_taken_over_and_yields(self):
        checker = self.assertHolds(
            fault(20, "stop"), event(20, "pause", "n1"), event(29, "taken", "n3", camera="cam1", epoch=2),
            event(40, "continue", "n1"), event(40, "healed", None), event(42, "yielded", "n1", camera="cam1", epoch=1, to="n3"),
            event(60, "settled", None))
        self.assertEqual(checker.faults[1].gaps, [9])
        self.assertEqual(checker.faults[1].doubles["cam1"], 2)

    def test_two_owners_while_a_node_is_cut_off(self):
        checker = self.assertHolds(
            fault(20, "partition"), event(20, "cut", "n1"), event(29, "taken", "n3", camera="cam1", epoch=2),
            event(40, "join", "n1"), event(40, "healed", None), event(45, "yielded", "n1", camera="cam1", epoch=1, to="n3"),
            event(60, "settled", None))
        self.assertEqual(checker.faults[1].gaps, [9])
        self.assertEqual(checker.faults[1].doubles["cam1"], 16)

    def test_an_owner_that_does_not_yield(self):
        self.assertFinds("two owners for too long", fault(20, "partition"), event(20, "cut", "n1"),
                         event(29, "taken", "n3", camera="cam1", epoch=2), event(40, "join", "n1"), event(40, "healed", None),
                         event(60, "settled", None))

    def test_two_owners_when_nothing_parts_them(self):
        self.assertFinds("two owners for too long", fault(20, "kill"), event(20, "end", "n2", how="kill"),
                         event(25, "taken", "n3", camera="cam2", epoch=2),
                         event(25, "taken", "n3", camera="cam1", epoch=2), event(60, "settled", None))

    def test_three_owners(self):
        self.assertFinds("more than two owners", fault(20, "partition"), event(20, "cut", "n1"),
                         event(29, "taken", "n3", camera="cam1", epoch=2), event(30, "taken", "n2", camera="cam1", epoch=3),
                         event(31, "yielded", "n3", camera="cam1", epoch=2), event(32, "yielded", "n1", camera="cam1", epoch=1))

    def test_a_handover_in_order_leaves_no_gap(self):
        checker = self.assertHolds(fault(20, "restart"), event(20, "leave", "n1"),
                                   event(20.2, "taken", "n3", camera="cam1", epoch=2),
                                   event(20.3, "yielded", "n1", camera="cam1", epoch=1, to="n3"),
                                   event(21, "end", "n1", how="term", status=0), event(60, "settled", None))
        self.assertEqual(checker.faults[1].gaps, [])

    def test_logs_that_are_read_in_another_order(self):
        checker = self.assertHolds(fault(20, "restart"), event(20.1, "yielded", "n1", camera="cam1", epoch=1),
                                   event(20.2, "taken", "n3", camera="cam1", epoch=2), event(60, "settled", None))
        self.assertEqual(checker.faults[1].gaps, [])

    def test_two_holders_of_one_epoch(self):
        self.assertFinds("two holders of one epoch", fault(20, "kill"), event(20, "end", "n1", how="kill"),
                         event(29, "taken", "n3", camera="cam1", epoch=2), event(29, "taken", "n2", camera="cam1", epoch=2),
                         event(29.1, "yielded", "n2", camera="cam1", epoch=2))

    def test_one_epoch_of_two_lives_of_a_node(self):
        self.assertFinds("two holders of one epoch", fault(20, "kill"), event(20, "end", "n1", how="kill"),
                         event(21, "start", "n1", life=2), event(25, "taken", "n1", life=2, camera="cam1", epoch=1))

    def test_an_epoch_that_goes_back(self):
        self.assertFinds("an epoch is lower than one before it", event(11, "taken", "n1", camera="cam1", epoch=5),
                         fault(20, "kill"), event(20, "end", "n1", how="kill"),
                         event(29, "taken", "n3", camera="cam1", epoch=3))


class Fixed(Case):
    def test_at_its_node(self):
        self.assertHolds({"t": 30, "what": "listing", "node": "n2", "cameras": {"fixed-n1": "n1"}}, probe(30, "n2", "fixed-n1"))

    def test_listed_elsewhere(self):
        self.assertFinds("a camera that never moves is elsewhere",
                         {"t": 30, "what": "listing", "node": "n2", "cameras": {"fixed-n1": "n2"}})

    def test_taken_elsewhere(self):
        self.assertFinds("a camera that never moves was taken by another node",
                         event(30, "taken", "n2", camera="fixed-n1", epoch=2))

    def test_served_without_its_node(self):
        self.assertFinds("a camera that never moves is served without its node", fault(20, "kill"),
                         event(20, "end", "n1", how="kill"), event(29, "taken", "n3", camera="cam1", epoch=2),
                         probe(40, "n2", "fixed-n1"))

    def test_failing_without_its_node_is_right(self):
        self.assertHolds(fault(20, "kill"), event(20, "end", "n1", how="kill"),
                         event(29, "taken", "n3", camera="cam1", epoch=2),
                         *[probe(t, "n2", "fixed-n1", 502) for t in range(21, 60)])


class Probes(Case):
    def test_a_picture_of_another_camera(self):
        self.assertFinds("a picture of another camera", probe(30, "n3", "cam1", width=176))

    def test_a_short_failure(self):
        checker = self.assertHolds(fault(20, "kill"), event(20, "end", "n1", how="kill"),
                                   *[probe(t, "n2", "cam1", 502) for t in range(21, 29)],
                                   event(29, "taken", "n3", camera="cam1", epoch=2), probe(30, "n2", "cam1"))
        self.assertAlmostEqual(checker.faults[1].outage, 7.1)

    def test_a_long_failure(self):
        self.assertFinds("a node that reaches the rest gives no snapshot", *[probe(t, "n2", "cam1", 502) for t in range(20, 40)])

    def test_failures_with_a_success_between_are_not_one(self):
        self.assertHolds(*[probe(t, "n2", "cam1", 200 if t == 29 else 502) for t in range(21, 38)])

    def test_failures_far_apart_are_not_one(self):
        self.assertHolds(*[probe(t, "n2", "cam1", 502) for t in range(21, 80, 7)])

    def test_a_node_that_is_cut_off_owes_nothing(self):
        self.assertHolds(fault(20, "partition"), event(20, "cut", "n3"), *[probe(t, "n3", "cam1", 504) for t in range(21, 50)],
                         event(50, "join", "n3"), event(50, "healed", None))

    def test_a_node_that_cannot_reach_another_is_excused_until_it_can(self):
        apart = {"t": 20, "what": "fault", "kind": "one-way", "number": 1, "excused": ["n3"]}
        failures = [probe(t, "n3", "cam1", 504) for t in range(21, 40)]
        self.assertHolds(apart, *failures, event(40, "healed", None))
        self.assertFinds("a node that reaches the rest gives no snapshot", apart, event(20.5, "healed", None), *failures,
                         *[probe(t, "n3", "cam1", 504) for t in range(40, 60)])

    def test_a_node_that_was_joined_again_owes_after_a_while(self):
        self.assertFinds("a node that reaches the rest gives no snapshot", fault(20, "partition"), event(20, "cut", "n3"),
                         event(30, "join", "n3"), event(30, "healed", None),
                         *[probe(t, "n3", "cam1", 504) for t in range(31, 60)])


class Rest(Case):
    def test_a_node_that_ends_by_itself(self):
        self.assertFinds("a node ended by itself", event(30, "died", "n3", status=-6))

    def test_a_bad_end(self):
        self.assertFinds("SIGTERM did not end a node well", event(30, "end", "n3", how="term", status=1))

    def test_an_error_in_the_log(self):
        self.assertFinds("a node logged an error", event(30, "error", "n3", message="camera not served"))

    def test_an_error_that_belongs_to_the_fault(self):
        self.assertHolds(fault(20, "same-name"), event(30, "error", "n3", message="another process has this node's name: ..."))

    def test_not_settled(self):
        self.assertFinds("not all is well again after a fault", {"t": 30, "what": "unsettled", "reason": "cam1"})

    def test_a_local_stream_that_stands_still_without_the_store(self):
        frames = {"what": "frames", "node": "n1", "camera": "fixed-n1", "missed": 0, "pause": 5}
        self.assertFinds("a stream of a local camera stood still because of the store", fault(20, "server-kill"), {"t": 25} | frames)
        self.assertHolds(fault(20, "stop"), {"t": 25} | frames)

    def test_a_local_stream_that_ends_without_the_store(self):
        self.assertFinds("a stream of a local camera ended because of the store", fault(20, "server-kill"),
                         event(25, "stream-ended", "n1", camera="fixed-n1"))

    def test_a_pause_belongs_to_the_fault_in_which_it_began(self):
        checker = self.assertHolds(fault(20, "stop"), fault(30, "clock", 2), event(31, "moving-pause", "n3", camera="cam1", pause=11.5))
        self.assertEqual([each.moving_pause for each in checker.faults], [0, 11.5, 0])

    def test_memory_and_descriptors(self):
        def use(t, rss, descriptors, settled=True):
            return event(t, "use", "n1", rss=rss << 20, descriptors=descriptors, settled=settled)
        self.assertHolds(use(10, 100, 30), use(20, 200, 40), use(30, 300, 80), use(40, 900, 500, settled=False))
        self.assertFinds("memory grows", use(10, 100, 30), use(20, 200, 40), use(30, 329, 40))
        self.assertFinds("descriptors grow", use(10, 100, 30), use(20, 200, 40), use(30, 200, 89))


class Table(Case):
    def test_a_fault_with_a_violation_is_bad(self):
        checker = self.check(fault(20, "kill"), event(20, "end", "n1", how="kill"), event(60, "settled", None),
                             fault(61, "stop", 2), event(70, "settled", None))
        lines = table(checker).splitlines()
        self.assertTrue(next(line for line in lines if "kill" in line).endswith("BAD |"))
        self.assertTrue(next(line for line in lines if "stop" in line).endswith("good |"))


if __name__ == "__main__":
    unittest.main()
