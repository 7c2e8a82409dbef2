"""Colours: the curve of sRGB, and Y'CbCr to R'G'B' (docs/semantics.md, 5 and 8). Codes are 0...255, light is 0...1."""
import numpy as np


def linearised(codes):
    """IEC 61966-2-1; beyond 0...255 the curve goes on, below 0 its straight part."""
    v = codes / 255
    return np.where(v <= 0.04045, v / 12.92, ((np.maximum(v, 0) + 0.055) / 1.055) ** 2.4)


def encoded(light):
    v = np.clip(light, 0, 1)
    return 255 * np.where(v <= 0.0031308, v * 12.92, 1.055 * np.maximum(v, 0.0031308) ** (1 / 2.4) - 0.055)


def to_rgb(y, cb, cr, matrix, is_limited):
    """R'G'B' of Y'CbCr codes by BT.601 or BT.709."""
    kr, kb = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722)}[matrix]
    if is_limited:
        y, cb, cr = (y - 16) * 255 / 219, (cb - 128) * 255 / 224, (cr - 128) * 255 / 224
    else:
        cb, cr = cb - 128, cr - 128
    red, blue = y + 2 * (1 - kr) * cr, y + 2 * (1 - kb) * cb
    return np.stack([red, (y - kr * red - kb * blue) / (1 - kr - kb), blue], -1)


def rounded(codes):
    """Codes as bytes have them: clamped, halves up."""
    return np.floor(np.clip(codes, 0, 255) + 0.5).astype(int)
