"""What every step of the kit uses: where things are, a command with a time limit, and the report."""
import json
import os
import subprocess
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# The standard works of `glpreview bench` and Benchmarks/compare.
W2_VIEWS = ("--view a:size=640x360 --view b:crop=1080x1080+420+0,size=320x320,mirror=horizontal "
            "--view c:rotate=90,size=360x640 --view d:size=160x90").split()
# The kinds of shaders, by the names that GLPREVIEW_PASSES knows.
SHADERS = ("fragments", "compute")
NV12 = "--input-format nv12 --matrix bt601 --range limited --input-size".split()


class Kit:
    """One run of the kit.

    `gpu` is what glpreview's --gpu gets, `renderer` what the driver calls itself, `libraries` and `vendor` what its environment has
    beside this process's own.
    """

    def __init__(self, out, budget, patience, gpu, random):
        self.begun = time.monotonic()
        self.deadline = self.begun + budget
        self.step_deadline = self.deadline
        # How many times as long everything may take as on a machine with a GPU.
        self.patience = patience
        self.out, self.gpu, self.random = out, gpu, random
        self.work = tempfile.mkdtemp(prefix="glpreview-gpu-")
        self.command, self.probe, self.frames = (os.path.join(self.work, name) for name in ("glpreview", "probe", "frames"))
        self.libraries, self.vendor = [], {}
        self.renderer, self.is_hardware, self.has_llvmpipe = "no driver", False, False
        self.sections, self.results, self.failures = [], {}, []
        open(self.path("log.txt"), "w").close()

    def path(self, name):
        return os.path.join(self.out, name)

    def left(self):
        return self.deadline - time.monotonic()

    # What is told

    def log(self, text):
        with open(self.path("log.txt"), "a", errors="replace") as file:
            file.write(text if text.endswith("\n") else text + "\n")

    def failed(self, text):
        self.failures.append(text)
        self.log(f"NOT RIGHT: {text}")

    def section(self, title, lines, results=None):
        """Adds lines to results.md and figures to results.json; both are whole after each section."""
        self.sections.append((title, lines))
        if results is not None:
            self.results[title or "Machine"] = results
        self.save()

    def save(self):
        text = []
        for title, lines in self.sections:
            text += [f"### {title}", ""] * bool(title) + lines + [""]
        if self.failures:
            text += ["### Not right", ""] + [f"- {line}" for line in self.failures] + [""]
        with open(self.path("results.md"), "w") as file:
            file.write("\n".join(text))
        with open(self.path("results.json"), "w") as file:
            json.dump({**self.results, "Not right": self.failures}, file, indent=1)
        return text

    # What is run

    def environment(self, has_vendor=True, shaders=None):
        values = dict(os.environ)
        values["LD_LIBRARY_PATH"] = ":".join(self.libraries + [p for p in [values.get("LD_LIBRARY_PATH")] if p])
        values.setdefault("EGL_LOG_LEVEL", "fatal")
        if has_vendor:
            values.update(self.vendor)
        if shaders:
            values["GLPREVIEW_PASSES"] = shaders
        return values

    def run(self, command, limit, env=None, is_quiet=False):
        """Runs a command for `limit` seconds at most (times the kit's patience), and logs it; of the output of a quiet one only the start."""
        limit = max(1.0, min(limit * self.patience, self.deadline - time.monotonic(), self.step_deadline - time.monotonic()))
        ran = Run([str(word) for word in command], limit, env or self.environment())
        ending = f"[status {ran.status}{' (time limit)' if ran.is_late else ''}, {ran.wall:.2f} s, CPU {ran.cpu:.2f} s]"
        self.log(f"\n$ {' '.join(map(str, command))}\n{ran.out[:2000] if is_quiet else ran.out}{ran.err}\n{ending}")
        return ran

    def glpreview(self, *words, limit=40, **options):
        return self.run([self.command, *words], limit, **options)

    def renderers(self):
        """What is measured beside each other: a name, the options of the device, and the environment."""
        name = "GPU" if self.is_hardware else self.gpu if self.gpu != "auto" else "CPU"
        yield name, ["--gpu", self.gpu], self.environment()
        if self.is_hardware:
            for shaders in SHADERS:
                for jpeg in "cpu", "gpu":
                    yield (f"GPU, {shaders}, JPEG by the {jpeg.upper()}", ["--gpu", self.gpu, "--jpeg", jpeg],
                           self.environment(shaders=shaders))
            yield "CPU", ["--gpu", "cpu"], self.environment(has_vendor=False)


class Run:
    """A command that has ended: its status (-9 where the limit ended it), its output, and its wall and CPU seconds."""

    def __init__(self, command, limit, env):
        self.status, self.out, self.err, self.wall, self.cpu, self.is_late = 127, "", "", 0.0, 0.0, False
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            begun = time.monotonic()
            try:
                child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env,
                                         start_new_session=True)
            except OSError as error:
                self.err = str(error)
                return
            timer = threading.Timer(limit, self.end, [child.pid])
            timer.start()
            try:
                _, status, usage = os.wait4(child.pid, 0)
            except BaseException:
                self.end(child.pid)
                raise
            finally:
                timer.cancel()
            child.returncode = self.status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            self.wall, self.cpu = time.monotonic() - begun, usage.ru_utime + usage.ru_stime
            out.seek(0), err.seek(0)
            self.out, self.err = out.read().decode(errors="replace"), err.read().decode(errors="replace")

    def end(self, group):
        self.is_late = True
        try:
            os.killpg(group, 9)
        except ProcessLookupError:
            pass

    @property
    def is_right(self):
        return self.status == 0

    def reason(self):
        lines = [line for line in (self.err or self.out).strip().splitlines() if line.strip()]
        return f"status {self.status}{', time limit' if self.is_late else ''}: {lines[-1][:160] if lines else 'no output'}"


def table(header, rows):
    if not rows:
        return []
    lines = ["| " + " | ".join(header) + " |", "|---|" + "--:|" * (len(header) - 1)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def number(value, digits=2):
    return "-" if value is None or value < 0 else f"{value:.{digits}f}"
