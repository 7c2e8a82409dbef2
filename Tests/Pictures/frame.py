"""Frames to draw: noise, ramps and hard edges in every format."""
import struct
import zlib

import numpy as np

FORMATS = ("rgb24", "rgba", "nv12", "yuyv", "i420", "y4m", "png")


def content(width, height, channels, seed):
    """Noise, ramps and hard edges."""
    random = np.random.default_rng(seed)
    picture = random.integers(0, 256, (height, width, channels))
    picture[: height // 3] = (np.arange(width)[None, :, None] * (1 + np.arange(channels)) // 2) % 256
    picture[height // 3: height // 2] = ((np.arange(width) // 7 % 2) * 255)[None, :, None]
    return picture.astype(np.uint8)


def turned_png(pixels):
    """A PNG whose EXIF orientation is 6: it is shown turned clockwise by 90 degrees."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    height, width = pixels.shape[:2]
    rows = np.pad(pixels.reshape(height, -1), ((0, 0), (1, 0))).tobytes()
    exif = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x0112, 3, 1, 6, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"eXIf", exif) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Frame:
    """A frame of a format: its bytes, and its `pixels` or `planes`.

    Planes of Y'CbCr are (samples, step x, step y, shift x): a sample covers step x times step y pixels, and is shift x
    samples to the right of its centred place.
    """

    def __init__(self, name, width, height, seed):
        self.name, self.width, self.height = name, width, height
        self.is_rgb = name in ("rgb24", "rgba", "png")
        # Whether it is shown turned clockwise by 90 degrees.
        self.is_turned = name == "png"
        if self.is_rgb:
            self.pixels = content(width, height, 4 if name == "rgba" else 3, seed)
            self.bytes = turned_png(self.pixels) if self.is_turned else self.pixels.tobytes()
            return
        step_y = 1 if name == "yuyv" else 2
        y = content(width, height, 1, seed)[..., 0]
        chroma = content(width // 2, height // step_y, 2, seed + 1)
        self.bytes = self.packed(y, chroma)
        # Raw chroma is sited left: 1/2 - 1/(2s) samples from the centred place.
        shift = 0 if name == "y4m" else 0.25
        self.planes = [(y, 1, 1, 0.0), (chroma[..., 0], 2, step_y, shift), (chroma[..., 1], 2, step_y, shift)]

    def packed(self, y, chroma):
        """The bytes of Y'CbCr samples."""
        if self.name == "yuyv":
            packed = np.zeros((self.height, self.width, 2), np.uint8)
            packed[..., 0], packed[:, 0::2, 1], packed[:, 1::2, 1] = y, chroma[..., 0], chroma[..., 1]
            return packed.tobytes()
        if self.name == "nv12":
            return y.tobytes() + chroma.tobytes()
        planar = y.tobytes() + chroma[..., 0].tobytes() + chroma[..., 1].tobytes()
        header = b"YUV4MPEG2 W%d H%d F1:1 Ip C420jpeg\nFRAME\n" % (self.width, self.height)
        return header + planar if self.name == "y4m" else planar

    def blended(self, background):
        """The R'G'B' pixels, over the background if they are transparent."""
        rgb = self.pixels[..., :3].astype(float)
        alpha = self.pixels[..., 3:] / 255 if self.name == "rgba" else 1
        return np.array(background) * (1 - alpha) + rgb * alpha
