"""Whom the model of the campaign with several hosts excuses, and what it complains of."""

import random
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

from harness import MIB  # noqa: E402
from host_faults import COORDINATOR, SOURCE, HostFault, draw_host_faults, excused_hosts  # noqa: E402
from host_point import HostPoint  # noqa: E402
from host_scenario import HostScenario, draw_host_scenario  # noqa: E402
from point import Verdict  # noqa: E402
from workplace import Ended  # noqa: E402


def scenario(kind: str = "tree", hosts: int = 5, retries: int = 0, options: tuple = ("--no-encrypt",),
             fanout: int = 1) -> HostScenario:
    return HostScenario(kind, hosts, ("nothing",) * hosts, 0, options, fanout, retries, True, False, False, 1.0)


def fault(what: str, at: int) -> HostFault:
    return HostFault(what, at, 0.5, max(at, 1), 1, fired=True)


class Excuses(unittest.TestCase):
    def excused(self, *faults: HostFault, **words) -> set[int]:
        return excused_hosts(scenario(**words), list(faults))

    def test_the_fault_of_a_host_excuses_that_host_alone(self):
        for what in ("kill", "cut", "blink", "full"):
            self.assertEqual(self.excused(fault(what, 3)), {3}, what)

    def test_what_nobody_needs_to_lose_excuses_nobody(self):
        self.assertEqual(self.excused(fault("slow", 3)), set())
        self.assertEqual(self.excused(fault("flip", 3)), set())
        self.assertEqual(self.excused(fault("stop", 3)), set(), "it gets its copy alone")
        self.assertEqual(self.excused(fault("kill", 3), retries=4), set())

    def test_wrong_bytes_excuse_nobody_but_in_a_sealed_link_from_the_source(self):
        for options in ((), ("--no-encrypt",)):
            self.assertEqual(self.excused(fault("flip", 3), options=options), set())
            self.assertEqual(self.excused(fault("flips", 3), options=options), set())
        self.assertEqual(self.excused(fault("flip", SOURCE), options=()), {1, 2, 3, 4, 5})
        self.assertEqual(self.excused(fault("flip", SOURCE)), set())

    def test_standard_input_excuses_all_when_a_chain_breaks(self):
        self.assertEqual(self.excused(fault("kill", 3), kind="stdin", retries=4), {1, 2, 3, 4, 5})
        self.assertEqual(self.excused(fault("full", 3), kind="stdin"), {3})

    def test_without_a_source_or_a_coordinator_nobody_need_have_all(self):
        for at in (SOURCE, COORDINATOR):
            self.assertEqual(self.excused(fault("kill", at)), {1, 2, 3, 4, 5})
        self.assertEqual(self.excused(fault("kill", SOURCE), retries=4), set())


class Trees(unittest.TestCase):
    def test_each_host_has_a_parent_that_sends_on(self):
        for fanout in (1, 2, 3, 16):
            drawn = scenario(hosts=9, fanout=fanout)
            parents = {drawn.parent(host) for host in range(2, 10)}
            self.assertEqual(parents, {host for host in range(1, 10) if drawn.sends_on(host)}, fanout)
        self.assertEqual([scenario(fanout=2).parent(host) for host in (2, 3, 4, 5)], [1, 1, 2, 2])

    def test_who_sends_wrong_bytes_sends(self):
        for seed in range(300):
            chance = random.Random(seed)
            drawn = draw_host_scenario(chance)
            for one in draw_host_faults(chance, drawn):
                if one.what in ("flip", "flips") and one.at > 0:
                    self.assertTrue(drawn.sends_on(one.at), (seed, str(drawn), str(one)))


class PlaceOfNothing:
    """What judge() looks at of a place."""

    class List:
        def __init__(self, text: str | None):
            self.text = text

        def exists(self) -> bool:
            return self.text is not None

        def read_text(self) -> str:
            return self.text

    def __init__(self, failed: str | None):
        self.failed_hosts = self.List(failed)


class Complaints(unittest.TestCase):
    def complaints(self, status: int, err: str, failed: str | None, *faults: HostFault) -> list[str]:
        point = HostPoint.__new__(HostPoint)
        point.scenario, point.verdict, point.place = scenario(), Verdict(0, ""), PlaceOfNothing(failed)
        ended = Ended(status, err, "", 1.0)
        point.judge(ended, list(faults), point.failed_hosts(ended))
        return point.verdict.complaints

    SAYS = "rdcp: h3: it died\nrdcp: 4 of 5 hosts have all\n"

    def test_one_host_that_died_and_is_named(self):
        self.assertEqual(self.complaints(1, self.SAYS, "h3\n", fault("kill", 3)), [])

    def test_a_host_that_is_named_without_need(self):
        self.assertIn("nothing has failed there", self.complaints(1, self.SAYS, "h3\n", fault("kill", 2))[0])

    def test_a_status_that_does_not_fit_the_list(self):
        self.assertIn("exit 0", self.complaints(0, self.SAYS, "h3\n", fault("kill", 3))[0])
        self.assertIn("exit 1", self.complaints(1, "rdcp: 5 of 5 hosts have all\n", "", fault("kill", 3))[0])

    def test_a_list_that_says_something_else_than_the_message(self):
        self.assertIn("2 hosts are in the list", self.complaints(1, self.SAYS, "h3\nh4\n", fault("kill", 3), fault("kill", 4))[0])

    def test_a_list_that_is_missing(self):
        self.assertIn("has not been written", self.complaints(1, self.SAYS, None, fault("kill", 3))[0])
        self.assertEqual(self.complaints(-9, "", None, fault("kill", COORDINATOR)), [])

    def test_bytes_that_leave_the_source_twice(self):
        for sent, err, complaints in ((12, "", 0), (22, "", 1), (22, "rdcp: goes on with 4 of 5 hosts", 0)):
            point = HostPoint.__new__(HostPoint)
            point.scenario, point.verdict, point.payload = scenario(), Verdict(0, ""), 10 * MIB
            point.judge_bytes(Ended(1, err, "", 1.0), sent * MIB, [])
            self.assertEqual(len(point.verdict.complaints), complaints, (sent, err))


class Draws(unittest.TestCase):
    def test_the_same_seed_is_the_same_point_and_every_fault_is_drawn(self):
        def draw(number: int):
            chance = random.Random(f"draws {number}")
            drawn = draw_host_scenario(chance)
            return drawn, draw_host_faults(chance, drawn)
        kinds = set()
        for number in range(2000):  # the rarest is one of 800
            drawn, faults = draw(number)
            self.assertEqual((drawn, faults), draw(number))
            self.assertTrue(3 <= drawn.hosts <= 16)
            self.assertTrue(1 <= len(faults) <= 3)
            self.assertTrue(all(COORDINATOR <= fault.at <= drawn.hosts for fault in faults))
            kinds |= {fault.kind for fault in faults}
        self.assertEqual(len([kind for kind in kinds if kind.startswith("a host")]), 9)
        self.assertIn("the source: its link is down", kinds)


if __name__ == "__main__":
    unittest.main()
