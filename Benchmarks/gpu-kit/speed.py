"""What everything costs: the probe, `bench`, `render`, other programs, and one long dispatch."""
import json
import os
import statistics
import sys
import threading
import time

from kit import HERE, NV12, W2_VIEWS, number, table
from machine import probe_device


def probe(kit):
    file = kit.path("probe.jsonl")
    ran = kit.run([kit.probe, "--seconds", 0.12 if kit.is_hardware else 0.02, "--json", file, *probe_device(kit)], 100)
    rows = [json.loads(line) for line in open(file)] if os.path.exists(file) else []
    if not ran.is_right:
        kit.failed("probe: " + (ran.reason() if ran.status != 1 else "a result is wrong; see log.txt"))
    lines = []
    for part, sizes in (("upload", ("1080p", "2160p")), ("readback", ("360p", "1080p"))):
        found = {(row["way"], row["of"]): row for row in rows if row["part"] == part}
        cells = []
        for name in dict.fromkeys(way for way, _ in found):
            cell = [name]
            for size in sizes:
                row = found.get((name, size))
                cell += ([number(row["wallMicroseconds"], 0), number(row["pipedMicroseconds"], 0), number(row["gpuMicroseconds"], 0),
                          number(row["bytes"] / row["pipedMicroseconds"] / 1e3, 1)] if row else ["-"] * 4)
            cells.append(cell)
        header = [f"{part}: us"] + [f"{size} {what}" for size in sizes for what in ("wall", "piped", "GPU", "GB/s")]
        lines += table(header, cells) + [""]
    lines += area_table(kit, {(row["way"], row["views"]): row for row in rows if row["part"] == "area"})
    ways = [f"{row['way']}: {1e6 / row['pipedMicroseconds']:.0f} frames/s ({row['cpuMicroseconds']:.0f} us CPU)"
            for row in rows if row["part"] == "way"]
    lines += ["", "Whole way of 1080p luma, 4 views, 4 frames in flight: " + ("; ".join(ways) or "none") + "."]
    wrong = sorted({row["way"] for row in rows if not row["right"]})
    kit.section("Probe", lines + ["WRONG: " + ", ".join(wrong)] * bool(wrong), rows)


def area_table(kit, areas):
    cells = []
    for name in dict.fromkeys(way for way, _ in areas):
        cell = [name]
        for views in (1, 4, 16):
            row, base = areas.get((name, views)), areas.get(("fragment, rows then columns", views))
            if not row:
                cell += ["-"] * 3
                continue
            key = "gpuMicroseconds" if kit.is_hardware and row["gpuMicroseconds"] > 0 else "pipedMicroseconds"
            cell += [number(row["pipedMicroseconds"] / views, 1), number(row["gpuMicroseconds"] / views, 1),
                     number(base[key] / row[key]) + "x" if base and row[key] > 0 else "-"]
        cells.append(cell)
    return table(["1080p luma -> 640x360: us a view"] + [f"{n} view{'s' * (n > 1)} {what}" for n in (1, 4, 16)
                                                         for what in ("piped", "GPU", "speed-up")], cells)


def bench(kit):
    rows, found = [], {}
    stages = ("read", "decode", "upload", "passes", "readback", "encode")
    for name, device, env in kit.renderers():
        ran = kit.glpreview("bench", "--json", "--seconds", 1, *device, env=env)
        if not ran.is_right:
            kit.failed(f"bench on {name}: " + ran.reason())
            continue
        found[name] = json.loads(ran.out)
        for work in found[name]["works"]:
            times = {stage["stage"]: stage for stage in work["stages"]}
            whole = work["whole"]
            rows.append([f"{work['work']} {name}",
                         *(number(times[stage]["wallMilliseconds"], 3) if stage in times else "-" for stage in stages),
                         number(times.get("passes", {}).get("gpuMilliseconds", -1), 3),
                         number(whole["wallMilliseconds"], 3), number(whole["cpuMilliseconds"], 3), f"{whole['framesPerSecond']:.0f}"])
    kit.section("Bench", ["Medians of each stage alone, then overlapped; ms a frame.", ""] + table(
        ["work", *stages, "passes, GPU clock", "overlapped wall", "CPU", "fps"], rows), found)


def works(kit):
    many = ["--loop", 1000000, "--quiet"]
    w2 = [kit.frames + "/W2.nv12", *NV12, "1920x1080"]
    sixteen = [word for i in range(16) for word in ("--view", f"v{i}:size={640 - i * 8}x{360 - i * 4}")]
    return {
        "W1": [kit.frames + "/W1.mjpeg", "--size", "640x360", "-o", "null:jpg", *many],
        "W1 fast": [kit.frames + "/W1.mjpeg", "--decode", "fast", "--size", "640x360", "-o", "null:jpg", *many],
        "W2": [*w2, *W2_VIEWS, "-o", "null:jpg", *many],
        "W2, not encoded": [*w2, *W2_VIEWS, "-o", "null:", *many],
        "W3": [kit.frames + "/W3.nv12", *NV12, "3840x2160", "--size", "640x360", "-o", "null:", *many],
        "16 views, not encoded": [*w2, *sixteen, "-o", "null:", *many],
        **({"4K JPEG": [kit.frames + "/W3.nv12", *NV12, "3840x2160", "-o", "null:jpg", *many]} if kit.is_hardware else {})}


def cost(kit, words, device, env, seconds):
    """Milliseconds a frame, from the difference of few and many frames, so that the start cancels; or why there are none."""
    few = 20

    def render(frames, *more, is_quiet=False):
        return kit.glpreview("render", *words, *device, "--frames", frames, *more, env=env, is_quiet=is_quiet)

    render(few)
    first, count = render(few), 60
    if not first.is_right:
        return None, first.reason()
    while True:
        last = render(few + count)
        if not last.is_right:
            return None, last.reason()
        if last.wall - first.wall >= seconds or count > 15000:
            break
        count *= 4
    told = render(40, "--json", is_quiet=True)
    times = {}
    for line in (told.out + "\n" + told.err).splitlines():
        if '"frameGPUMilliseconds"' in line:
            value = json.loads(line)
            times[value["frame"]] = value["frameGPUMilliseconds"]
    return {"frames": count, "wall": (last.wall - first.wall) * 1e3 / count, "cpu": (last.cpu - first.cpu) * 1e3 / count,
            "gpu": statistics.median(times.values()) if times else None, "start": first.wall * 1e3}, None


def render(kit):
    rows, found = [], {}
    for name, device, env in kit.renderers():
        for work, words in works(kit).items():
            result, reason = cost(kit, words, device, env, 1.2 if kit.is_hardware else 0.5)
            if reason:
                kit.failed(f"render {work} on {name}: {reason}")
                continue
            found[f"{work} {name}"] = result
            rows.append([f"{work} {name}", number(result["wall"], 3), number(result["cpu"], 3), number(result["gpu"], 3),
                         f"{1e3 / max(result['wall'], 1e-6):.0f}", f"{result['start']:.0f}"])
    lines = table(["glpreview render", "wall ms", "CPU ms", "GPU ms", "fps", "20 frames, ms"], rows)
    first = next(kit.renderers())[0]
    if f"W2 {first}" in found:
        lines += ["", several(kit, found, found[f"W2 {first}"]["wall"])]
    kit.section("Render", lines, found)


def several(kit, found, wall):
    """W2 by several processes at once."""
    count = int(min(8000, max(40, 3e3 / max(wall, 0.05))))
    processes = min(8, max(2, (os.cpu_count() or 2) // 2))
    runs, begun = [], time.monotonic()
    words = ["render", *works(kit)["W2"], "--gpu", kit.gpu, "--frames", count]
    threads = [threading.Thread(target=lambda: runs.append(kit.glpreview(*words, limit=60))) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = processes * count / (time.monotonic() - begun)
    wrong = [ran for ran in runs if not ran.is_right]
    if wrong:
        kit.failed("W2 by several processes: " + wrong[0].reason())
        return "W2 by several processes failed."
    found["processes"] = {"processes": processes, "framesPerSecond": rate}
    return f"W2 by {processes} processes at once: {rate:.0f} frames/s in all, start-up counted."


def peers(kit):
    # Python's own libraries, not the kit's.
    ran = kit.run([sys.executable, os.path.join(HERE, "peers.py"), kit.frames], 90, dict(os.environ))
    rows = [json.loads(line) for line in ran.out.splitlines() if line.startswith("{")]
    ours = kit.results.get("Render", {}).get(f"W2 {next(kit.renderers())[0]}")
    cells = []
    for row in rows:
        if "missing" in row:
            cells.append([row["peer"], "missing: " + row["missing"][:60]] + [""] * 4)
        elif "work" in row:
            ratio = number(ours["wall"] / row["wall"]) if ours and row["work"] == "W2" else ""
            cells.append([row["peer"], row["work"], number(row["wall"], 3), number(row["cpu"], 3), number(row.get("gpu", -1), 3), ratio])
    lines = table(["peer", "work", "wall ms", "CPU ms", "GPU ms", "glpreview wall / peer"], cells)
    if not ran.is_right:
        kit.failed("peers: " + ran.reason())
    kit.section("Peers", lines + [f"    {row['note']}" for row in rows if "note" in row], rows)


def long(kit):
    """One bounded dispatch of about two seconds: it ends by itself, so nothing has to be reset."""
    ran = kit.run([kit.probe, "--long", 2, *probe_device(kit)], 40)
    lines = [line for line in ran.out.splitlines() if " steps:" in line or line.startswith("robust")]
    after = kit.run([kit.probe, "--info", *probe_device(kit)], 25)
    kit.section("Long dispatch", [f"{'; '.join(lines[:1] + lines[-1:])}; status {ran.status}; a new context afterwards: "
                                  f"{'works' if after.is_right else 'FAILS'}."], {"status": ran.status, "lines": lines})
    if not after.is_right:
        kit.failed("no new context after a long dispatch")
