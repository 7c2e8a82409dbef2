"""Means of points, which are the samples of a warped view (docs/semantics.md, "Warps": Means)."""
import numpy as np

from filters import point_taps


def point_counts(ratios, name):
    """How many points an output has along each axis, of its cell's ratios in sixteenths."""
    points = -(-3 * ratios // 32)
    counts = np.where(ratios <= 18, np.minimum(ratios, 1), np.where(points > 5, 8, points))
    return np.minimum(counts, 1) if name in ("nearest", "bilinear") else counts


def is_within(rectangle, unit, x, y):
    x, y = x / unit - rectangle[0], y / unit - rectangle[1]
    return (x >= 0) & (x < rectangle[2]) & (y >= 0) & (y < rectangle[3])


def weighed(plane, name, crop, qx, qy):
    """Each tap of a filter at positions of the stored picture: the samples of a plane, and their weights.

    A tap outside the crop takes the crop's edge sample.
    """
    samples, step_x, step_y, shift = plane
    x, y, w, h = crop
    left, across = point_taps(name, (qx + 128 * (step_x - 1) * (shift > 0)) // step_x)
    top, down = point_taps(name, qy // step_y)
    for a, one in enumerate(across):
        for b, two in enumerate(down):
            column = np.clip(left + a, x // step_x, -(-(x + w) // step_x) - 1)
            row = np.clip(top + b, y // step_y, -(-(y + h) // step_y) - 1)
            yield samples[row, column], one * two


def means(grid, size, name, planes, crop, placed):
    """The mean of each output and plane over the points that are shown, and the share of these.

    Points are shown inside `crop`, a rectangle of the stored picture, and `placed`, one of the target.
    """
    ys, xs = np.mgrid[:size[1], :size[0]]
    counts = point_counts(grid.ratios[:, ys >> grid.shift, xs >> grid.shift], name)
    shown, sums = np.zeros(xs.shape), [np.zeros((*xs.shape, *plane[0].shape[2:])) for plane in planes]
    for index in np.ndindex(8, 8):
        at = (counts[0] > index[0]) & (counts[1] > index[1])
        # Evenly spaced over the output, in 1/64, rounded half up.
        px, py = (64 * p[at] + (64 * (2 * k + 1) + n[at]) // (2 * n[at]) for p, k, n in zip((xs, ys), index, counts))
        qx, qy = grid.position(px, py)
        is_shown = is_within(placed, 64, px, py) & is_within(crop, 256, qx, qy)
        shown[at] += is_shown
        for plane, total in zip(planes, sums):
            for samples, weight in weighed(plane, name, crop, qx, qy):
                total[at] += (samples.T * (weight * is_shown)).T
    return [(total.T / np.maximum(shown, 1).T).T for total in sums], shown / np.maximum(counts.prod(0), 1)
