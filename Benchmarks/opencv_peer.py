"""OpenCV's side of Benchmarks/compare: opencv_peer.py WORK CLASS DATA FRAMES."""
import sys

import cv2
import numpy as np

work, kind, data, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
INTERPOLATION = cv2.INTER_AREA if kind == "antialiased" else cv2.INTER_LINEAR
FRAMES = 8


def scaled(picture, width, height):
    return cv2.resize(picture, (width, height), interpolation=INTERPOLATION)


def jpeg(picture):
    return cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 80])


def raw(index, width, height):
    """A frame of NV12, read from the file each time, as everybody else does."""
    size = width * height * 3 // 2
    frame = np.fromfile(f"{data}/{work}.nv12", np.uint8, size, offset=index % FRAMES * size)
    return cv2.cvtColor(frame.reshape(height * 3 // 2, width), cv2.COLOR_YUV2BGR_NV12)


for index in range(count):
    if work.startswith("W1"):
        encoded = np.fromfile(f"{data}/W1-{index % FRAMES}.jpg", np.uint8)
        jpeg(scaled(cv2.imdecode(encoded, cv2.IMREAD_COLOR), 640, 360))
    elif work == "W2":
        picture = raw(index, 1920, 1080)
        whole = scaled(picture, 640, 360)
        jpeg(whole)
        jpeg(cv2.flip(scaled(picture[:, 420:1500], 320, 320), 1))
        jpeg(cv2.rotate(whole, cv2.ROTATE_90_CLOCKWISE))
        jpeg(scaled(picture, 160, 90))
    else:
        cv2.cvtColor(scaled(raw(index, 3840, 2160), 640, 360), cv2.COLOR_BGR2RGBA)
