"""A run in a table, a line for each kind of fault, and as JSON."""
import collections
import json


def percentile(values, part):
    """The smallest value that `part` of all do not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(-(-len(ordered) * part // 100) - 1, 0))] if ordered else 0.0


def by_kind(checker):
    kinds = collections.defaultdict(list)
    for fault in checker.faults:
        if fault.kind != "start":
            kinds[fault.kind].append(fault)
    return {kind: _summary(faults) for kind, faults in sorted(kinds.items())}


def _summary(faults):
    gaps = [gap for fault in faults for gap in fault.gaps]
    return {
        "count": len(faults), "parts": sum(fault.parts for fault in faults), "gaps": len(gaps), "gap_p50": round(percentile(gaps, 50), 2), "gap_p99": round(percentile(gaps, 99), 2),
        "gap_worst": round(max(gaps, default=0), 2),
        "two_owners": round(sum(sum(fault.doubles.values()) for fault in faults), 2),
        "two_owners_worst": round(max((time for fault in faults for time in fault.doubles.values()), default=0), 2),
        "outage": round(max(fault.outage for fault in faults), 2), "moving_pause": round(max(fault.moving_pause for fault in faults), 2), "missed": sum(fault.missed for fault in faults),
        "violations": [violation for fault in faults for violation in fault.violations]}


def table(checker):
    lines = ["| fault | count | cameras without owner | gap p50 / p99 / worst [s] | two owners [camera-seconds], worst [s] "
             "| longest refusal of a snapshot [s] | longest time without a live picture in two streams of a camera that moves [s] | frames missed by local viewers | verdict |",
             "|---|--:|--:|--:|--:|--:|--:|--:|---|"]
    for kind, each in by_kind(checker).items():
        gaps = f"{each['gap_p50']:.1f} / {each['gap_p99']:.1f} / {each['gap_worst']:.1f}" if each["gaps"] else "-"
        two = f"{each['two_owners']:.1f}, {each['two_owners_worst']:.1f}" if each["two_owners"] else "0"
        count = f"{each['count']}" if each["parts"] <= each["count"] or "kill" not in kind else f"{each['count']} ({each['parts']} nodes)"
        lines.append(f"| {kind} | {count} | {each['gaps']} | {gaps} | {two} | {each['outage']:.1f} | {each['moving_pause']:.1f} | {each['missed']} "
                     f"| {'BAD' if each['violations'] else 'good'} |")
    return "\n".join(lines)


def text(checker, words, skipped):
    lines = [words, "", table(checker), ""]
    lines += [f"SKIPPED: {each}" for each in skipped]
    lines.append(", ".join(f"{count} {what}" for what, count in sorted(checker.counts.items())))
    counted = collections.Counter(what for what, _ in checker.violations)
    for what, count in counted.most_common():
        examples = [detail for each, detail in checker.violations if each == what][:3]
        lines.append(f"VIOLATION: {what}: {count} times: {'; '.join(examples)}")
    if not counted:
        lines.append("no violation")
    return "\n".join(lines)


def write_json(checker, path, settings, skipped):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"settings": settings, "faults": by_kind(checker), "counts": dict(checker.counts), "skipped": skipped,
                   "violations": [f"{what}: {detail}" for what, detail in checker.violations]}, file, indent=1)
