"""Filters: which samples a filter weighs, and by how much (docs/semantics.md, 4, and "Warps")."""
import numpy as np

FILTERS = ("nearest", "bilinear", "area", "bicubic", "mitchell", "lanczos")


def cubic(b, c):
    """Mitchell and Netravali's family, 1988."""
    def kernel(x):
        x = np.abs(x)
        near = ((12 - 9 * b - 6 * c) * x ** 3 + (-18 + 12 * b + 6 * c) * x ** 2 + (6 - 2 * b)) / 6
        far = ((-b - 6 * c) * x ** 3 + (6 * b + 30 * c) * x ** 2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c)) / 6
        return np.where(x < 1, near, np.where(x < 2, far, 0))
    return kernel


def lanczos(x):
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


catmull_rom = cubic(0, 1 / 2)
# Kernels and their radii, which widen with the ratio.
WIDE = {"bicubic": (catmull_rom, 2), "mitchell": (cubic(1 / 3, 1 / 3), 2), "lanczos": (lanczos, 3)}


def axis_taps(name, centre, ratio, is_reversed):
    """The weights of samples along an axis for an output that covers `ratio` samples around `centre`; not normalised.

    `is_reversed` says that the outputs are seen from the other end.
    """
    if name == "nearest":
        # On a boundary, the sample that is seen later.
        return {int(np.ceil(centre)) - 1 if is_reversed else int(np.floor(centre)): 1.0}
    if name == "bilinear" or name == "area" and ratio < 1:
        low = int(np.floor(centre - 0.5))
        return {low: 1 - (centre - 0.5 - low), low + 1: centre - 0.5 - low}
    if name == "area":
        low, high = centre - ratio / 2, centre + ratio / 2
        return {k: min(high, k + 1) - max(low, k) for k in range(int(np.floor(low)), int(np.ceil(high)))}
    kernel, radius = WIDE[name]
    scale = max(ratio, 1)
    ks = np.arange(int(np.floor(centre - radius * scale)) - 1, int(np.ceil(centre + radius * scale)) + 2)
    return dict(zip(ks.tolist(), kernel((ks + 0.5 - centre) / scale).tolist()))


def point_taps(name, position):
    """The first sample at positions in 1/256 of a sample, and the weights from it on, for a point of a warped view."""
    if name == "nearest":
        return position >> 8, [1]
    first, t = (position - 128) >> 8, ((position - 128) & 255) / 256
    return (first - 1, [catmull_rom(t - k) for k in (-1, 0, 1, 2)]) if name == "bicubic" else (first, [1 - t, t])
