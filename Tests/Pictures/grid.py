"""Grids of positions, between which warps follow parabolas in whole numbers (docs/semantics.md, "Warps": Positions)."""
import numpy as np

# Nodes end here, in pixels.
FARTHEST = 32767


def parabola(values, place):
    """The parabola through three values at 0, 1 and 2."""
    one, two, three = values
    return one + place * (two - one) + place * (place - 1) / 2 * (three - 2 * two + one)


def clipped(nodes):
    """Nodes in 1/256 of a pixel, not rounded; 0 where there is no position."""
    return np.clip(np.nan_to_num(nodes), -FARTHEST, FARTHEST) * 256


class Cells:
    """Cells of 2^shift outputs a side over the target. Arrays of cells are rows of columns.

    `position` maps outputs to the stored picture; positions are arrays of x and of y.
    """

    def __init__(self, position, target, stored, shift):
        self.position, self.size = position, np.array(stored, float).reshape(2, 1, 1)
        self.shift, self.side = shift, 1 << shift
        self.counts = [(length + self.side) >> shift for length in target]
        # The part of each cell inside the target; cells beyond it count for nothing.
        self.parts = [np.clip(length - np.arange(count) * self.side, 0, self.side)
                      for length, count in zip(target, self.counts)]
        places = (np.arange(2 * count + 1.0) * self.side / 2 for count in self.counts)
        self.nodes = position(np.stack(np.meshgrid(*places)))
        # Nodes of each cell: rows[row][column], and the same by columns.
        self.rows = [[self.nodes[:, row:row - 2 or None:2, column:column - 2 or None:2] for column in range(3)]
                     for row in range(3)]
        self.columns = list(zip(*self.rows))
        ways = [[np.abs(one - other).max(0) for line in lines for one, other in zip(line, line[1:])]
                for lines in (self.rows, self.columns)]
        self.ratios = np.stack([np.max(way, 0) for way in ways]) / (self.side / 2)
        self.longest = np.max(ways[0] + ways[1], 0)
        self.judge()

    def judge(self):
        """Finds the cells that are empty, and those that are too large (rough)."""
        error, is_near, is_inexact = self.errors()
        lacks = np.any([np.isnan(node).any(0) for line in self.rows for node in line], 0)
        is_cut = ~lacks & (error > self.longest / 4) & (self.longest * 2 >= self.size.max())
        is_wide = self.are_wide()
        is_counted = np.outer(self.parts[1] > 0, self.parts[0] > 0)
        has_near_node = np.any([self.near(node) for line in self.rows for node in line], 0)
        self.are_empty = lacks | is_cut | is_wide | ~is_counted
        self.are_rough = is_counted & np.where(
            lacks, is_near, np.where(is_cut | is_wide, is_near | has_near_node, is_inexact))

    def near(self, positions):
        """Whether positions are in the stored picture, or within 2 pixels of it."""
        return ((positions >= -2) & (positions <= self.size + 2)).all(0)

    def errors(self):
        """Of four points in each cell: the largest error, whether one is near, and whether a near one is inexact."""
        worst, is_near, is_inexact = 0, False, False
        for corner in (0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75):
            inside = [part * share for part, share in zip(self.parts, corner)]
            places = (np.arange(count) * self.side + p for count, p in zip(self.counts, inside))
            exact = self.position(np.stack(np.meshgrid(*places)))
            u, v = np.meshgrid(*(p * 2 / self.side for p in inside))
            mean = parabola([parabola(column, v) for column in self.columns], u)
            error = np.nan_to_num(np.abs(exact - mean).max(0), nan=np.inf)
            is_here = self.near(exact) | self.near(mean)
            worst, is_near = np.maximum(worst, error), is_near | is_here
            is_inexact = is_inexact | is_here & (error > np.maximum(2, self.ratios.max(0)) / 512)
        return worst, is_near, is_inexact

    def are_wide(self):
        """Whether products in the whole numbers of a cell's parabolas are over 2^30."""
        half, is_wide = 32 << self.shift, np.zeros(self.longest.shape, bool)
        for line in self.rows + self.columns:
            one, two, three = (clipped(node) for node in line)
            bend = np.abs(three - 2 * two + one) * half / 16
            for way in two - one, three - two:
                is_wide |= (np.maximum(np.abs(way), bend) * 2 * half > 1 << 30).any(0)
        return is_wide


class Grid:
    """Positions of the stored picture at the nodes of cells, in 1/256 of a pixel, and the ratios of the cells, in 1/16.

    The cells are the largest that are exact enough. A ratio of 0 is that of a cell that shows background.
    """

    def __init__(self, position, target, stored):
        for shift in (4, 3, 2, 1):
            cells = Cells(position, target, stored, shift)
            if not cells.are_rough.any():
                break
        self.shift = cells.shift
        self.nodes = np.floor(clipped(cells.nodes) + 0.5).astype(int)
        ratios = np.clip(np.ceil(np.nan_to_num(cells.ratios) * 16), 1, 255)
        self.ratios = np.where(cells.are_empty, 0, ratios).astype(int)

    def position(self, x, y):
        """The positions of points, given in 1/64 of an output, in 1/256 of a pixel."""
        bits = self.shift + 6
        column, row, x, y = 2 * (x >> bits), 2 * (y >> bits), x % (1 << bits), y % (1 << bits)

        def between(nodes, part):
            half, (one, two, three) = 1 << bits - 1, nodes
            bend = (part * (part - half) >> 4) * (three - 2 * two + one) >> bits - 4
            return one + (part * (two - one) + bend + half // 2 >> bits - 1)
        edges = [between([self.nodes[:, row + k, column + i] for k in range(3)], y) for i in range(3)]
        return between(edges, x)
