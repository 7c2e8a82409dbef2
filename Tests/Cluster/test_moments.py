"""The checks of schedules with made-up journals: what is well passes, and each thing that must not be is found."""
import unittest

from checker import Checker
from report import text
from test_checker import event, fault, journal

EPOCH, EVERY = 1_700_000_000, 2
# The journal's end, and the first moment.
END, FIRST = 60, 2


def picture(at, node="n1", came=0.2, step=0, **fields):
    """The picture of a moment; its clock is wrong by `step`."""
    moment = EPOCH + at + step
    return {"t": at + came, "what": "picture", "node": node, "camera": "cam1", "view": "main", "name": f"{moment}.jpg",
            "moment": moment, "at": at + step, "sum": f"{node} {at}"} | fields


def pictures(first=FIRST, last=END, node="n1", **fields):
    return [picture(at, node, **fields) for at in range(first, last, EVERY)]


def check(*events, patience=1.0):
    known = journal(*events, {"t": END, "what": "over"})
    known[0] |= {"schedules": {"cam1": EVERY}, "epoch": EPOCH}
    return Checker(patience).check(known)


def kill(t, node="n1"):
    return [fault(t, "kill"), event(t, "end", node, how="kill"), event(t + 9, "taken", "n3", camera="cam1", epoch=2)]


def missed(t, reason, what="moment-missed", **fields):
    return event(t, what, "n1", camera="cam1", reason=reason, **fields)


BUSY = "the picture before it is still being taken"
LATE = "no frame was captured in time"


class Case(unittest.TestCase):
    def assertFinds(self, words, *events):
        self.assertEqual({what for what, _ in check(*events).violations}, {words})

    def assertHolds(self, *events):
        checker = check(*events)
        self.assertEqual(checker.violations, [])
        return checker.counts


class Stored(Case):
    def test_each_moment_once(self):
        counts = self.assertHolds(*pictures())
        self.assertEqual(counts["pictures stored"], 29)
        self.assertEqual(counts["moments that two nodes took"], 0)
        self.assertIn("29 pictures stored", text(check(*pictures()), "", []))

    def test_nothing_at_all(self):
        self.assertFinds("a moment is missing")

    def test_one_that_is_missing(self):
        checker = check(*[each for each in pictures() if each["at"] != 30])
        self.assertEqual(checker.violations, [("a moment is missing", "cam1 at 30.0 s, of n1/1")])

    def test_one_that_is_missing_while_a_server_of_leases_is_away(self):
        self.assertFinds("a moment is missing", fault(20, "server-kill"), event(40, "healed", None),
                         *[each for each in pictures() if each["at"] != 30])

    def test_one_that_is_missing_while_another_node_is_away(self):
        self.assertFinds("a moment is missing", fault(20, "mute") | {"parts": ["n2"]}, event(40, "healed", None),
                         *[each for each in pictures() if each["at"] != 30])

    def test_those_of_a_node_that_does_not_reach_the_store(self):
        self.assertHolds(fault(20, "mute") | {"parts": ["n1"]}, event(40, "healed", None), *pictures(last=20), *pictures(46))

    def test_those_before_a_takeover(self):
        counts = self.assertHolds(*kill(20), *pictures(last=20), *pictures(30, node="n3"))
        self.assertEqual(counts["moments missed in faults"], 5)

    def test_those_long_after_a_takeover(self):
        self.assertFinds("a moment is missing", *kill(20), *pictures(last=20), *pictures(40, node="n3"))

    def test_the_picture_of_a_node_without_the_camera(self):
        self.assertFinds("a picture is of a node that does not have the camera", *pictures(), picture(30, "n2"))
        self.assertFinds("a picture is of a node that does not have the camera", *kill(20), *pictures(last=20),
                         *pictures(30, node="n3"), picture(40, "n1"))

    def test_a_node_that_has_just_handed_the_camera_over(self):
        events = [event(20, "taken", "n3", camera="cam1", epoch=2), event(20.2, "yielded", "n1", camera="cam1", epoch=1, to="n3")]
        counts = self.assertHolds(*events, *pictures(last=24), *pictures(20, node="n3"))
        self.assertEqual(counts["moments that two nodes took"], 2)
        self.assertFinds("a picture is of a node that does not have the camera", *events, *pictures(last=28),
                         *pictures(20, node="n3"))

    def test_a_node_that_was_cut_off_sends_its_pictures_later(self):
        counts = self.assertHolds(
            fault(20, "partition") | {"parts": ["n1"]}, event(20, "cut", "n1"), event(29, "taken", "n3", camera="cam1", epoch=2),
            event(36, "join", "n1"), event(36, "healed", None), event(40, "yielded", "n1", camera="cam1", epoch=1, to="n3"),
            *pictures(last=20), *[picture(at, came=37 - at) for at in range(20, 36, 2)], *pictures(30, node="n3"))
        self.assertEqual(counts["moments that two nodes took"], 3)

    def test_a_moment_that_a_node_takes_twice(self):
        self.assertFinds("a node took a moment twice", *pictures(), picture(30, came=0.5, sum="another"))

    def test_a_picture_that_is_sent_again(self):
        self.assertEqual(self.assertHolds(*pictures(), picture(30, came=1.5))["pictures sent again"], 1)

    def test_a_picture_from_before_its_moment(self):
        self.assertFinds("a picture is older than its moment", *[each for each in pictures() if each["at"] != 30],
                         picture(30, came=-0.5))

    def test_the_picture_of_the_moment_before(self):
        self.assertFinds("a picture is older than its moment", *[each for each in pictures() if each["at"] != 30],
                         picture(30, sum="n1 28"))

    def test_equal_pictures_of_a_camera_that_was_opened_again(self):
        events = [event(20, "taken", "n3", camera="cam1", epoch=2), event(20.1, "yielded", "n1", camera="cam1", epoch=1, to="n3"),
                  event(23, "taken", "n1", camera="cam1", epoch=3), event(23.1, "yielded", "n3", camera="cam1", epoch=2, to="n1")]
        self.assertHolds(*events, *pictures(last=20), *pictures(20, 24, "n3"), picture(24, sum="n1 18"), *pictures(26))

    def test_a_name_of_no_moment(self):
        self.assertFinds("a picture has the name of no moment", *pictures(), picture(31))
        self.assertFinds("a picture has the name of no moment", *pictures(), picture(30) | {"moment": None, "at": None})


class Clocks(Case):
    def test_the_names_of_a_wrong_clock(self):
        for step in (3600, -3600, 5, -5):
            wrong = [picture(at, step=step, moment=EPOCH + at + step - step % 2) for at in range(20, 24, 2)]
            counts = self.assertHolds(fault(20, "clock") | {"parts": ["n1"], "step": step}, event(24, "healed", None),
                                      *pictures(last=20), *wrong, *pictures(30))
            self.assertEqual(counts["pictures by a wrong clock"], 2)

    def test_the_names_of_a_wrong_clock_at_another_node(self):
        self.assertFinds("a picture is older than its moment", fault(20, "clock") | {"parts": ["n2"], "step": 4},
                         event(24, "healed", None), *[each for each in pictures() if each["at"] != 26], picture(26, came=-3.8))


class Busy(Case):
    def test_moments_that_a_busy_node_reports(self):
        counts = self.assertHolds(missed(30, BUSY), event(32.3, "moments-resumed", "n1", camera="cam1"),
                                  *[each for each in pictures() if each["at"] != 30])
        self.assertEqual(counts["moments missed by busy nodes, as they say"], 1)

    def test_moments_that_a_clock_passed_over(self):
        self.assertHolds(missed(36, "the machine or its clock passed over it", count=3), *pictures(last=30), *pictures(36))

    def test_moments_after_a_busy_time(self):
        self.assertFinds("a moment is missing", missed(30, BUSY), event(32.3, "moments-resumed", "n1", camera="cam1"),
                         *[each for each in pictures() if each["at"] not in (30, 40)])

    def test_a_node_that_is_busy_for_long(self):
        self.assertFinds("a node is too busy for a camera's moments for too long", missed(30, BUSY), *pictures(last=30))

    def test_a_failure_is_no_excuse(self):
        self.assertFinds("a moment is missing", missed(30, "camera 'cam1' delivers no frames: was unplugged", "moment-failed"),
                         *[each for each in pictures() if each["at"] != 30])

    def test_moments_without_a_frame_in_time(self):
        counts = self.assertHolds(missed(32.3, LATE, "moment-failed"), event(34.3, "moments-resumed", "n1", camera="cam1"),
                                  *[each for each in pictures() if each["at"] != 30])
        self.assertEqual(counts["moments missed by busy nodes, as they say"], 1)

    def test_a_node_that_has_no_frame_in_time_for_long(self):
        self.assertFinds("a node is too busy for a camera's moments for too long", missed(32.3, LATE, "moment-failed"),
                         *pictures(last=30))

    def test_a_store_that_fails(self):
        self.assertFinds("the store of pictures failed", *pictures(),
                         {"t": 30, "what": "picture-error", "reason": "10.0.0.1: ValueError()"})


if __name__ == "__main__":
    unittest.main()
