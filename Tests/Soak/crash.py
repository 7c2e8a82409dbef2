"""Where a process crashed: Swift's runtime writes it to a file when a signal ends the process."""
import os
import shutil

SWIFT = shutil.which(os.environ.get("SWIFT", "swift")) or "/"
PROGRAM = os.path.join(os.path.dirname(os.path.realpath(SWIFT)), "../libexec/swift/linux/swift-backtrace")
SETTINGS = "enable=yes,interactive=no,color=no,registers=none,images=none,threads=crashed"


def environment(path):
    """What has a process write its backtrace to `path`; nothing without Swift's program for it, which would be a line of the log."""
    if not os.path.exists(PROGRAM):
        return {}
    return {"SWIFT_BACKTRACE": f"{SETTINGS},swift-backtrace={os.path.realpath(PROGRAM)},output-to={path}"}


def words(path, limit=30):
    """The crash and the first frames of the thread, as one line; nothing where the process wrote none."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [" ".join(line.split()) for line in file]
    frames = [line for line in lines if line.startswith("***") or " crashed" in line or line[:1].isdigit() and " in " in line]
    return " | ".join(frames[:limit])
