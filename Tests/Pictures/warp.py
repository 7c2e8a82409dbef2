"""Cases with a warp: a projection of a lens, four corners, or a rotation by any angle (docs/semantics.md, "Warps")."""
import numpy as np

from case import Case
from colours import rounded, to_rgb
from grid import Grid
from lens import Camera
from maps import affine, homography, mapped, moved
from means import means


class Warp(Case):
    """A view with a warp; `view` has the options of it.

    The map from outputs to the stored picture goes through the flattened picture, which is rotated by quarters,
    mirrored, scaled and placed like a crop.
    """

    def __init__(self, form, size, name, mode="fill", crop=None, rotate=0, mirror="none", **view):
        super().__init__(form, size, name, crop, rotate, mirror)
        self.view = {"mode": mode, **{key: str(value) for key, value in view.items()}}
        self.quarters = int(rotate > 45)

    def __str__(self):
        return " ".join([super().__str__(), *(f"{key} {value}" for key, value in self.view.items())])

    def options(self):
        return [f"--{key}={value}" for key, value in self.view.items()]

    def flattened(self, source):
        """The size of the flattened picture, and the map from its positions to the upright source's."""
        x, y, w, h = self.crop or (0, 0, *source)
        if "lens" in self.view:
            size = (self.height, self.width) if self.quarters else (self.width, self.height)
            return size, Camera(self.view, size, np.array(source), w).position
        size, matrix = self.flattened_corners() if "corners" in self.view else self.flattened_rotation(x, y, w, h)
        return size, lambda points: mapped(matrix, points)

    def flattened_corners(self):
        """Each side is as long as the longer one of the two in the source."""
        points = np.array([pair.split(",") for pair in self.view["corners"].split()], float)
        sides = np.hypot(*(points - np.roll(points, -1, 0)).T)
        size = [int(max(sides[k], sides[k + 2]) + 0.5) for k in (0, 1)]
        return size, homography(np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * size, points)

    def flattened_rotation(self, x, y, w, h):
        """All of the turned crop in the mode `fit`, else the largest part of its shape that is inside it."""
        angle = np.radians(self.rotate - 90 * self.quarters)
        sine, cosine = np.sin(angle), np.cos(angle)
        bounds = np.array([w * cosine + h * abs(sine), w * abs(sine) + h * cosine])
        part = min((w, h) / bounds)
        size = np.ceil(bounds) if self.view["mode"] == "fit" else np.floor([w * part, h * part])
        turned = affine(cosine, sine, x + w / 2, -sine, cosine, y + h / 2)
        return size, turned @ moved(-size[0] / 2, -size[1] / 2)

    def placed(self, sw, sh):
        """The window of a rotated picture that is seen, and the rectangle of the target that shows it."""
        w, h, mode = self.width, self.height, self.view["mode"]
        ratio = {"fill": min, "fit": max, "stretch": lambda *_: 1}[mode](sw / w, sh / h)
        if mode == "fit":
            w, h = int(sw / ratio + 0.5), int(sh / ratio + 0.5)
        window = (w * ratio, h * ratio) if mode == "fill" else (sw, sh)
        return window, ((self.width - w) // 2, (self.height - h) // 2, w, h)

    def grid(self, frame, source):
        """The grid over the target, and the rectangle of it that the picture covers, as outputs."""
        flat, position = self.flattened(source)
        sw, sh = flat[::-1] if self.quarters else flat
        window, (left, top, w, h) = self.placed(sw, sh)
        seen = affine(window[0] / w, 0, (sw - window[0]) / 2, 0, window[1] / h, (sh - window[1]) / 2)
        seen = seen @ moved(-left, -top)
        seen = affine(-1, 0, sw, 0, 1, 0) @ seen if self.mirror == "horizontal" else seen
        seen = affine(0, 1, 0, -1, 0, flat[1]) @ seen if self.quarters else seen
        stored = affine(0, 1, 0, -1, 0, frame.height) if frame.is_turned else np.eye(3)
        with np.errstate(all="ignore"):
            grid = Grid(lambda points: mapped(stored, position(mapped(seen, points))), (self.width, self.height),
                        (frame.width, frame.height))
        return grid, (left, top, w, h)

    def expected(self, frame):
        source = (frame.height, frame.width) if frame.is_turned else (frame.width, frame.height)
        grid, placed = self.grid(frame, source)
        x, y, w, h = self.crop or (0, 0, *source)
        crop = (y, frame.height - x - w, h, w) if frame.is_turned else (x, y, w, h)
        planes = [(frame.blended(self.background), 1, 1, 0)] if frame.is_rgb else frame.planes
        values, share = means(grid, (self.width, self.height), self.filter, planes, crop, placed)
        if frame.is_rgb:
            picture = np.clip(values[0], 0, 255)
        else:
            picture = to_rgb(*values, self.matrix, self.range == "limited")
        share = share[..., None]
        return rounded(picture * share + np.array(self.background) * (1 - share))
