"""A case: a view of a frame, the picture that the command draws of it, and the one that docs/semantics.md defines."""
import subprocess

import numpy as np

from colours import rounded
from separable import resampled


class Case:
    """A view that shows a crop as it is, stretched to the view's size."""

    def __init__(self, form, size, name, crop=None, rotate=0, mirror="none", linear=False, matrix="bt601",
                 range="limited"):
        self.format, (self.width, self.height), self.filter, self.crop = form, size, name, crop
        self.rotate, self.mirror, self.linear, self.matrix, self.range = rotate, mirror, linear, matrix, range
        self.background = (32, 128, 224)

    def __str__(self):
        words = [self.format, f"{self.width}x{self.height}", self.filter]
        words += [f"crop {self.crop_text()}"] if self.crop else []
        words += [f"turned {self.rotate}"] if self.rotate else []
        words += [f"mirrored {self.mirror}"] if self.mirror != "none" else []
        words += ["linear"] if self.linear else []
        words += [self.matrix, self.range] if self.format not in ("rgb24", "rgba", "png") else []
        return " ".join(words)

    def crop_text(self):
        return "%dx%d+%d+%d" % (*self.crop[2:], *self.crop[:2])

    def options(self):
        """The options of the view that only cases of this class have."""
        return ["--mode", "stretch"]

    def expected(self, frame):
        """The view's R'G'B' codes, as docs/semantics.md defines them."""
        picture = resampled(frame, self)
        picture = np.rot90(picture, -self.rotate // 90)
        picture = picture[:, ::-1] if self.mirror == "horizontal" else picture
        return rounded(picture)

    def command(self, frame, options, source, target):
        """The words of the command that draws the view."""
        words = [options.glpreview, "render", source, "--renderer", options.renderer, "--gpu", options.gpu,
                 "--size", f"{self.width}x{self.height}", "--filter", self.filter, "--quiet",
                 "--rotate", str(self.rotate), "--mirror", self.mirror, "--background",
                 "#%02x%02x%02x" % self.background, "--frames", "1", "-o", target]
        if frame.name not in ("y4m", "png"):
            words += ["--input-format", frame.name, "--input-size", f"{frame.width}x{frame.height}"]
        words += ["--crop", self.crop_text()] if self.crop else []
        words += ["--linear"] if self.linear else []
        words += [] if frame.is_rgb else ["--matrix", self.matrix, "--range", self.range]
        return words + self.options()

    def drawn(self, frame, options, folder):
        """The view's R'G'B' codes, as the command draws them; leaves its files in a folder."""
        source, target = f"{folder}/frame.raw", f"{folder}/drawn.rgba"
        with open(source, "wb") as file:
            file.write(frame.bytes)
        done = subprocess.run(self.command(frame, options, source, target), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()}")
        with open(target, "rb") as file:
            pixels = np.frombuffer(file.read(), np.uint8)
        return pixels.reshape(self.height, self.width, 4)[..., :3].astype(int)
