#!/usr/bin/env python3
"""Nodes and NATS servers on a network of their own, with faults; checks what must hold, whatever fails (docs/testing.md).

    make cluster                                    4 nodes, one server, 3 faults
    make cluster NODES=12 SERVERS=3 FAULTS=100 SEED=7
    Tests/Cluster/run.py --only takeover --kills 100 --nodes 9 --cameras 36
    Tests/Cluster/run.py --kinds full,bucket-deleted --faults 4
    Tests/Cluster/run.py --plan --faults 20         prints what would be done
    Tests/Cluster/run.py --check out/cluster/events.jsonl   checks a journal again

Leaves the journal, logs and the report under out/cluster/. Where there can be no such network it says SKIPPED.

Exit status: 0 all held or skipped, 1 something did not hold, 64 wrong usage, 69 glpreview is not there.
"""
import argparse
import json
import os
import shutil
import signal
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import network  # noqa: E402
import plan as planning  # noqa: E402
import report  # noqa: E402
from checker import Checker  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--servers", type=int, default=1, choices=[1, 3])
    parser.add_argument("--faults", type=int, default=3)
    parser.add_argument("--cameras", type=int, help="that move (default: two a node)")
    parser.add_argument("--slots", type=int, default=16, help="how many of them a node takes")
    parser.add_argument("--seed", type=int, default=1, help="of the plan: the same does the same again (default: 1)")
    parser.add_argument("--patience", type=float, default=5, help="seconds that everything may take longer on a loaded machine")
    parser.add_argument("--only", choices=["takeover"], help="nothing but nodes that are killed, several at once")
    parser.add_argument("--kills", type=int, default=100, help="with --only takeover")
    parser.add_argument("--kinds", help="of faults, separated by commas; all unless told")
    parser.add_argument("--plan", action="store_true", help="print the plan and end")
    parser.add_argument("--check", metavar="JOURNAL", help="check a journal and end")
    parser.add_argument("--glpreview", default=os.environ.get("GLPREVIEW") or os.path.join(ROOT, ".build/debug/glpreview"))
    parser.add_argument("--out", default=os.path.join(ROOT, "out/cluster"))
    parser.error = lambda reason: parser.exit(64, f"{parser.format_usage()}cluster: {reason}\n")
    options = parser.parse_args()
    known = planning.OF_NODES + planning.OF_STORE + ["leader-kill"]
    options.kinds = options.kinds.split(",") if options.kinds else None
    if unknown := set(options.kinds or []) - set(known):
        parser.error(f"no such kind: {', '.join(unknown)}; there are {', '.join(known)}")
    if not 2 <= options.nodes <= 80:
        parser.error("--nodes is 2 to 80")
    return options


def checked(events, options, words, skipped, folder=None):
    checker = Checker(options.patience).check(events)
    text = report.text(checker, words, skipped)
    print(text, flush=True)
    if folder:
        with open(os.path.join(folder, "report.md"), "w", encoding="utf-8") as file:
            file.write(text + "\n")
        report.write_json(checker, os.path.join(folder, "report.json"), {**vars(options)}, skipped)
    return 1 if checker.violations else 0


def main():
    options = arguments()
    if options.check:
        with open(options.check, encoding="utf-8") as file:
            return checked([json.loads(line) for line in file], options, options.check, [])
    actions = planning.plan(options.seed, options.faults, options.servers, options.kinds)
    if options.plan:
        print(*actions, sep="\n")
        return 0
    command, options.out = os.path.abspath(options.glpreview), os.path.abspath(options.out)
    if not os.access(command, os.X_OK):
        print(f"cluster: {command} is not there; build it first", file=sys.stderr)
        return 69
    if network.INSIDE not in os.environ and (reason := network.missing()):
        print(f"cluster: SKIPPED: {reason}", flush=True)
        return 0
    network.enter()
    shutil.rmtree(options.out, ignore_errors=True)
    os.makedirs(options.out)
    threading.stack_size(512 << 10)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    return play(command, options, actions)


def play(command, options, actions):
    from cluster import Cluster
    words = (f"{options.nodes} nodes, {options.servers} servers, {options.kills} kills" if options.only else
             f"{options.nodes} nodes, {options.servers} servers, {len(actions)} faults") + f", seed {options.seed}"
    print(f"cluster: {words}; {command}", flush=True)
    cluster = Cluster(command, options.out, options)
    try:
        cluster.start()
        if options.only:
            cluster.takeovers(options.kills)
        else:
            cluster.through(actions)
    except KeyboardInterrupt:
        cluster.skipped.append("the rest of the plan: interrupted")
    finally:
        cluster.journal.add("over")
        cluster.stop()
    load = os.getloadavg()
    words += f", {cluster.journal.seconds():.0f} s, load {load[0]:.1f} on {os.cpu_count()} cores, patience {options.patience:.0f} s"
    return checked(cluster.journal.all(), options, words, cluster.skipped, options.out)


if __name__ == "__main__":
    sys.exit(main())
