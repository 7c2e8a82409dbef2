"""Pictures that are filtered along both axes, one after the other (docs/semantics.md, 2, 4, 5 and 8)."""
import numpy as np

from colours import encoded, linearised, to_rgb
from filters import axis_taps


def weights(name, start, length, count, outputs, step=1, shift=0.0, is_reversed=False):
    """The matrix of a filter along an axis: rows are outputs, columns the samples of a plane.

    The crop is `length` pixels from `start`; a sample of the plane covers `step` pixels, `shift` samples to the right
    of its centred place. `outputs` samples show the whole crop; `is_reversed` says that they are seen from the other
    end. A tap outside the crop takes the crop's edge sample.
    """
    ratio = length / outputs / step
    matrix = np.zeros((outputs, count))
    first, last = start // step, -(-(start + length) // step) - 1
    for i in range(outputs):
        centre = (start + (i + 0.5) * length / outputs) / step + shift
        taps = axis_taps(name, centre, ratio, is_reversed)
        total = sum(taps.values())
        for k, weight in taps.items():
            matrix[i, min(max(k, first), last)] += weight / total
    return matrix


def applied(rows, columns, samples):
    """Samples, of one channel or more, through the matrices of both axes."""
    return np.tensordot(columns, np.tensordot(rows, samples, (1, 0)), (1, 1)).swapaxes(0, 1)


def resampled(frame, case):
    """The view's R'G'B' codes before rounding, upright and not mirrored."""
    x, y, w, h = case.crop or (0, 0, frame.width, frame.height)
    width, height = (case.height, case.width) if case.rotate == 90 else (case.width, case.height)

    def filtered(samples, step_x=1, step_y=1, shift=0.0):
        rows = weights(case.filter, y, h, samples.shape[0], height, step_y, is_reversed=case.rotate == 90)
        columns = weights(case.filter, x, w, samples.shape[1], width, step_x, shift, case.mirror == "horizontal")
        return applied(rows, columns, samples.astype(float))

    if frame.is_rgb:
        rgb = frame.blended(case.background)
        return encoded(filtered(linearised(rgb))) if case.linear else filtered(rgb)
    if not case.linear:
        planes = [filtered(*plane) for plane in frame.planes]
        return to_rgb(*planes, case.matrix, case.range == "limited")
    # Chroma comes to luma's grid first, bilinear and within the crop (semantics, 8).
    full = []
    for samples, step_x, step_y, shift in frame.planes:
        rows = weights("bilinear", y, h, samples.shape[0], h, step_y)
        columns = weights("bilinear", x, w, samples.shape[1], w, step_x, shift)
        full.append(rows @ samples.astype(float) @ columns.T)
    light = linearised(to_rgb(*full, case.matrix, case.range == "limited"))
    return encoded(applied(weights(case.filter, 0, h, h, height), weights(case.filter, 0, w, w, width), light))
