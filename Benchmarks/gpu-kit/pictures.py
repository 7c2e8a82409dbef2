"""Whether the driver draws right: `verify`, and large pictures beside the reference renderer."""
import json
import os
import tarfile

from kit import NV12, SHADERS, table

# Views of one frame of 1920x1080.
VIEWS = {
    "whole": "size=640x360", "cropped": "crop=1080x1080+420+0,size=320x320,mirror=horizontal",
    "turned": "rotate=90,size=360x640", "thumbnail": "size=160x90", "odd": "size=501x283,filter=lanczos",
    "cubic": "size=1280x720,filter=bicubic", "linear": "size=320x180,linear=true", "enlarged": "size=2560x1440",
    "letterbox": "rotate=270,size=400x400,mode=fit,background=#203040", "same": "size=1920x1080"}


def verify(kit):
    lines, found = [], {}
    for shaders in SHADERS:
        lines += [""] * bool(lines)
        found[shaders] = verified(kit, shaders, lines)
    kit.section("Verify", lines, found)


def verified(kit, shaders, lines):
    """Verifies one kind of shaders, adds what is to be said of it to `lines`, and returns the figures."""
    env = kit.environment(shaders=shaders)
    # The fixed cases first, so that something is known even if the random ones take too long; their programs are cached then.
    ran, count = kit.glpreview("verify", "--json", "--gpu", kit.gpu, env=env, limit=120), 0
    if not ran.is_late and kit.random > 0:
        longer = kit.glpreview("verify", "--json", "--random", kit.random, "--gpu", kit.gpu, env=env, limit=120)
        if longer.is_late:
            kit.failed(f"verify --random {kit.random} of {shaders} takes more than {longer.wall:.0f} s; the fixed cases are told")
        else:
            ran, count = longer, kit.random
    groups = [json.loads(line) for line in ran.out.splitlines() if line.startswith("{")]
    broken = [group for group in groups if group["broken"]]
    lines += [f"`verify --random {count}` of {shaders}: {sum(g['cases'] for g in groups)} cases in {len(groups)} groups, "
             f"{sum(g['broken'] for g in groups)} broken, worst {max([g['worst'] for g in groups] or [-1])}, "
             f"{sum(g['differing'] for g in groups)} of {sum(g['compared'] for g in groups)} channels differ; "
             f"{ran.wall:.1f} s, status {ran.status}."]
    lines += table(["broken group", "cases", "broken", "worst", "bound", "differing"],
                   [[g["group"], g["cases"], g["broken"], g["worst"], g["bound"], g["differing"]] for g in broken][:15])
    reports = [line for line in ran.err.splitlines() if line.startswith("broken")]
    if broken:
        lines += ["", *(f"    {line}" for line in reports[:8])]
    if not ran.is_right:
        kit.failed(f"verify of {shaders}: " + (f"{len(broken)} groups are broken" if broken else ran.reason()))
    elif not groups:
        kit.failed(f"verify of {shaders}: it told no group")
    return {"status": ran.status, "seconds": ran.wall, "groups": groups, "broken": reports}


def pictures(kit):
    sources = {"nv12": [kit.frames + "/W2.nv12", *NV12, "1920x1080"], "jpeg": [kit.frames + "/W1-0.jpg"]}
    views = [word for name, keys in VIEWS.items() for word in ("--view", f"{name}:{keys}")]
    rows, found = [], {}
    for source, words in sources.items():
        runs = [kit.glpreview("render", *words, *views, "--frames", 1, "--quiet", "--format", "rgba", *renderer,
                              "-o", f"{kit.work}/{source}-{{view}}-{name}.rgba", limit=60)
                for name, renderer in renderers(kit)]
        if not all(ran.is_right for ran in runs):
            kit.failed(f"pictures of {source}: " + next(ran for ran in runs if not ran.is_right).reason())
            continue
        for view in VIEWS:
            pair = [read(f"{kit.work}/{source}-{view}-{name}.rgba") for name, _ in renderers(kit)]
            if len(pair[0]) != len(pair[1]):
                kit.failed(f"picture {source} {view}: {len(pair[0])} bytes, not {len(pair[1])}")
                continue
            worst, differing = difference(*pair)
            found[f"{source} {view}"] = {"worst": worst, "differing": differing, "of": len(pair[0])}
            rows.append([f"{source} {view}", worst, differing, len(pair[0])])
    lines = [f"{len(rows)} pictures of a frame of 1920x1080 beside the reference renderer: worst difference "
             f"{max([row[1] for row in rows] or [-1])}, {sum(row[2] for row in rows)} of {sum(row[3] for row in rows)} channels differ."]
    bad = [row for row in rows if row[1] > 1]
    if bad:
        kit.failed("pictures differ by more than 1: " + ", ".join(row[0] for row in bad))
        lines += table(["picture", "worst", "differing", "of"], bad)
        keep_pair(kit, sources, *bad[0][0].split())
    kit.section("Pictures", lines, found)


def renderers(kit):
    return ("gpu", ["--gpu", kit.gpu]), ("reference", ["--renderer", "reference"])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def difference(first, second):
    """The largest difference of two runs of bytes, and how many differ."""
    try:
        import numpy as np
        far = np.abs(np.frombuffer(first, np.uint8).astype(np.int16) - np.frombuffer(second, np.uint8))
        return int(far.max()), int((far > 0).sum())
    except ImportError:
        far = [abs(a - b) for a, b in zip(first, second) if a != b]
        return max(far or [0]), len(far)


def keep_pair(kit, sources, source, view):
    """Leaves one wrong picture and the right one in pictures.tar.gz."""
    with tarfile.open(kit.path("pictures.tar.gz"), "w:gz") as archive:
        for name, renderer in renderers(kit):
            file = f"{kit.work}/{source}-{view}-{name}.png"
            kit.glpreview("render", *sources[source], "--view", f"{view}:{VIEWS[view]}", "--frames", 1, "--quiet", *renderer,
                          "-o", file)
            if os.path.exists(file):
                archive.add(file, os.path.basename(file))
