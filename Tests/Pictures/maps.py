"""Maps of positions: matrices of three rows and columns, as affine and projective maps of the plane."""
import numpy as np


def affine(a, b, c, d, e, f):
    return np.array([[a, b, c], [d, e, f], [0, 0, 1]])


def moved(x, y):
    return affine(1, 0, x, 0, 1, y)


def homography(origins, targets):
    """The projective map of four points to four others."""
    rows = []
    for (px, py), (qx, qy) in zip(origins, targets):
        rows += [[px, py, 1, 0, 0, 0, -px * qx, -py * qx], [0, 0, 0, px, py, 1, -px * qy, -py * qy]]
    return np.append(np.linalg.solve(np.array(rows, float), targets.ravel()), 1).reshape(3, 3)


def mapped(matrix, points):
    """Points, as arrays of x and of y, through a projective map; NaN where there is no position."""
    u, v, depth = np.tensordot(matrix, np.stack([*points, np.ones_like(points[0])]), 1)
    return np.stack([u, v]) / np.where(depth > 1e-9, depth, np.nan)
