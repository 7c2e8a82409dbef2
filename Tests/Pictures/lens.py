"""Lenses and the cameras that look through them (docs/lenses.md). Rays are x to the right, y down and z forward."""
import numpy as np

from maps import affine


class Lens:
    """A lens in the words of its option, on a picture of a size.

    It maps rays to positions in the picture: `radial` gives the distance from the centre, in `unit`s, of an angle
    (fisheye) or of a tangent (the others). Beyond `end` a straight line of the slope there goes on.
    """

    def __init__(self, text, size):
        words = text.replace("ptlens", "ptlens distortion").split()
        self.kind, self.values = words[0], dict(zip(words[1::2], words[2::2]))
        self.is_fisheye, self.curve = self.kind == "fisheye", self.values.get("curve", self.kind)
        self.k = np.append(self.numbers("distortion", []), np.zeros(8))
        matrix, scale = self.camera_matrix(size), size / self.numbers("size", size)
        self.focal, self.centre = matrix[:2] * scale, (matrix[2:] + 0.5) * scale
        self.unit = np.full(2, min(size) / 2) if self.kind == "ptlens" else self.focal
        self.end = self.end_of_formula(size)
        self.slope = (self.radial(self.end) - self.radial(self.end - 1e-6)) / 1e-6

    def numbers(self, key, default):
        return np.array(self.values[key].replace("x", ",").split(",") if key in self.values else default, float)

    def radial(self, t):
        k = self.k
        if self.curve == "fisheye":
            return t * (1 + k[0] * t ** 2 + k[1] * t ** 4 + k[2] * t ** 6 + k[3] * t ** 8)
        if self.curve == "pinhole":
            return t * (1 + k[0] * t ** 2 + k[1] * t ** 4 + k[4] * t ** 6)
        if self.curve == "ptlens":
            return t * (k[0] * t ** 3 + k[1] * t ** 2 + k[2] * t + 1 - k[:3].sum())
        return {"equisolid": lambda: 2 * np.sin(t / 2), "stereographic": lambda: 2 * np.tan(t / 2)}[self.curve]()

    def camera_matrix(self, size):
        """fx, fy, cx and cy as `matrix` has them, in which pixels have their centres at whole numbers."""
        half = np.radians(self.numbers("fov", [180 if self.is_fisheye else 60])) / 2
        if self.is_fisheye:
            length = self.numbers("radius", [min(size) / 2]) / self.radial(half)
        else:
            length = size[0] / 2 / np.tan(half)
        return self.numbers("matrix", [*length, *length, *self.numbers("center", size / 2) - 0.5])

    def end_of_formula(self, size):
        """Where the radius is 21/20 of the farthest corner's."""
        if self.curve == "equisolid":
            return np.pi
        corners = ((0, 0), (1, 0), (0, 1), (1, 1))
        farthest = max(np.hypot(*(size * corner - self.centre) / self.unit) for corner in corners)
        ts = np.linspace(0, np.pi if self.is_fisheye else 10, 200001)
        return ts[np.argmax(np.append(self.radial(ts[1:]) >= 1.05 * farthest, True))]

    def position(self, rays):
        across, z = rays[:2], rays[2]
        if not self.is_fisheye:
            across = np.where(z > 0, across / z, np.nan) * (self.focal / self.unit)[:, None, None]
        length = np.hypot(*across)
        t, end = np.arctan2(length, z) if self.is_fisheye else length, self.end
        line = self.radial(end) + self.slope * (t - end)
        radius = np.where(t <= end, self.radial(np.minimum(t, end)), line)
        seen = across * np.where(length > 0, radius / length, 0)
        if self.kind == "pinhole":
            seen += self.tangential(across / length) * np.where(t <= end, t * t, end * (2 * t - end))
        return self.centre[:, None, None] + self.unit[:, None, None] * seen

    def tangential(self, direction):
        """The tangential distortion in a direction, at the distance 1."""
        (x, y), (p1, p2) = direction, self.k[2:4]
        return np.stack([2 * p1 * x * y + p2 * (1 + 2 * x * x), p1 * (1 + 2 * y * y) + 2 * p2 * x * y])


class Camera:
    """Another camera, at the place of the first: the map of the picture that it takes to the source.

    Its picture has a `size`, and the source is seen through `lens`. `width` is that of the crop.
    """

    def __init__(self, view, size, source, width):
        self.lens, self.size, self.shape = Lens(view["lens"], source), size, view.get("projection", "flat")
        half = np.radians(float(view.get("hfov", 2 * self.usual(width)))) / 2
        self.scale = (np.tan(half) if self.shape == "flat" else half) / (size[0] / 2)
        (sy, sp, sr), (cy, cp, cr) = (f(np.radians([float(view.get(key, 0)) for key in ("yaw", "pitch", "roll")]))
                                      for f in (np.sin, np.cos))
        rolled, pitched = affine(cr, -sr, 0, sr, cr, 0), np.array([[1, 0, 0], [0, cp, -sp], [0, sp, cp]])
        self.turned = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]]) @ pitched @ rolled

    def usual(self, width):
        """Half of the usual field of view, in degrees."""
        if self.shape != "flat":
            return 90
        return 45 if self.lens.is_fisheye else np.degrees(np.arctan(width / 2 / self.lens.focal[0]))

    def rays(self, a, b):
        """The rays of points, given in units of the projection from the picture's middle; NaN where there is none."""
        if self.shape == "flat":
            return a, b, np.ones_like(a)
        if self.shape == "cylinder":
            return np.sin(a), b, np.cos(a)
        latitude = np.where(np.abs(b) <= np.pi / 2 + 16 * self.scale, b, np.nan)
        return np.cos(latitude) * np.sin(a), np.sin(latitude), np.cos(latitude) * np.cos(a)

    def position(self, points):
        a, b = ((p - s / 2) * self.scale for p, s in zip(points, self.size))
        return self.lens.position(np.tensordot(self.turned, np.stack(self.rays(a, b)), 1))
