"""What else could make the same views on this machine: peers.py FRAMES. Prints one JSON object a line.

FRAMES is a folder of `glpreview bench --write-frames`. OpenCV draws and encodes on the CPU; PyTorch draws on the GPU and
nvJPEG, through torchvision, encodes there; CuPy runs the probe's kernel in CUDA. Milliseconds a frame.
"""
import json
import os
import sys
import time

FRAMES = sys.argv[1]
WIDTH, HEIGHT, COUNT = 1920, 1080, 8
SIZE = WIDTH * HEIGHT * 3 // 2


def tell(**values):
    print(json.dumps(values), flush=True)


def timed(work, seconds=1.5, warm=3):
    """Wall and CPU ms of a call, from as many calls as fit."""
    for index in range(warm):
        work(index)
    begun, cpu, calls = time.perf_counter(), time.process_time(), 0
    while calls < 5 or time.perf_counter() - begun < seconds:
        work(calls)
        calls += 1
    return (time.perf_counter() - begun) * 1e3 / calls, (time.process_time() - cpu) * 1e3 / calls


def main():
    try:
        import numpy as np
    except ImportError as error:
        tell(peer="all", missing=str(error))
        return
    frames = np.fromfile(os.path.join(FRAMES, "W2.nv12"), np.uint8)[:COUNT * SIZE].reshape(COUNT, HEIGHT * 3 // 2, WIDTH)
    expected = opencv(np, frames)
    pytorch(np, frames, expected)
    cupy(np, frames)


def opencv(np, frames):
    try:
        import cv2
    except ImportError as error:
        tell(peer="OpenCV", missing=str(error))
        return None
    parameters = [cv2.IMWRITE_JPEG_QUALITY, 80]
    encoded = [np.fromfile(os.path.join(FRAMES, f"W1-{i}.jpg"), np.uint8) for i in range(COUNT)]

    def scaled(picture, width, height):
        return cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)

    def views(index):
        picture = cv2.cvtColor(frames[index % COUNT], cv2.COLOR_YUV2BGR_NV12)
        whole = scaled(picture, 640, 360)
        return [whole, cv2.flip(scaled(picture[:, 420:1500], 320, 320), 1), cv2.rotate(whole, cv2.ROTATE_90_CLOCKWISE),
                scaled(picture, 160, 90)]

    def w2(index):
        for picture in views(index):
            cv2.imencode(".jpg", picture, parameters)

    def w1(index):
        cv2.imencode(".jpg", scaled(cv2.imdecode(encoded[index % COUNT], cv2.IMREAD_COLOR), 640, 360), parameters)

    for threads in (0, 1):
        cv2.setNumThreads(threads if threads else -1)
        name = f"OpenCV {cv2.__version__}, " + ("1 thread" if threads == 1 else f"{cv2.getNumThreads()} threads")
        for work, run in (("W2", w2), ("W1", w1)):
            wall, cpu = timed(run)
            tell(peer=name, work=work, wall=wall, cpu=cpu)
    return [picture[:, :, ::-1] for picture in views(0)]


def pytorch(np, frames, expected):
    try:
        import torch
        import torch.nn.functional as F
    except ImportError as error:
        tell(peer="PyTorch", missing=str(error))
        return
    if not torch.cuda.is_available():
        tell(peer="PyTorch", missing="CUDA is not available")
        return
    try:
        from torchvision.io import ImageReadMode, decode_jpeg, encode_jpeg
    except ImportError as error:
        encode_jpeg = None
        tell(peer="torchvision", missing=str(error))
    host = torch.from_numpy(frames.copy()).pin_memory()
    matrix = torch.tensor([[1.164384, 0.0, 1.596027], [1.164384, -0.391762, -0.812968], [1.164384, 2.017232, 0.0]], device="cuda")

    def view(luma, chroma, left, width, size):
        y = F.interpolate(luma[..., left:left + width], size=size, mode="area")
        c = F.interpolate(chroma[..., left // 2:(left + width) // 2], size=size, mode="area")
        ycc = torch.cat([y - 16, c - 128], 1)
        return torch.einsum("rc,bchw->brhw", matrix, ycc).clamp_(0, 255).round_().to(torch.uint8)

    def views(batch):
        luma = batch[:, None, :HEIGHT].float()
        chroma = batch[:, HEIGHT:].reshape(-1, HEIGHT // 2, WIDTH // 2, 2).permute(0, 3, 1, 2).float()
        whole = view(luma, chroma, 0, WIDTH, (360, 640))
        return [whole, view(luma, chroma, 420, 1080, (320, 320)).flip(3), whole.rot90(-1, (2, 3)),
                view(luma, chroma, 0, WIDTH, (90, 160))]

    with torch.inference_mode():
        if expected is not None:
            drawn = [picture[0].permute(1, 2, 0).cpu().numpy() for picture in views(host[:1].cuda())]
            far = [float(np.abs(a.astype(int) - b.astype(int)).mean()) for a, b in zip(drawn, expected)]
            tell(peer="PyTorch", note="mean difference from OpenCV's views: " + " ".join(f"{value:.2f}" for value in far))
        for count in (1, 8):
            draws = lambda index: views((host if count == 8 else host[index % COUNT:index % COUNT + 1]).cuda(non_blocking=True))

            def back(index):
                for picture in draws(index):
                    picture.cpu()

            def jpegs(index):
                pictures = [one.contiguous() for picture in draws(index) for one in picture]
                for encoded in encode_jpeg(pictures, quality=80):
                    encoded.cpu()

            works = [("W2, not encoded", back)] + ([("W2", jpegs)] if encode_jpeg else [])
            for work, run in works:
                try:
                    wall, cpu = timed(run)
                    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                    times = []
                    for index in range(20):
                        torch.cuda.synchronize()
                        begin.record()
                        run(index)
                        end.record()
                        end.synchronize()
                        times.append(begin.elapsed_time(end))
                    gpu = sorted(times)[10] / count
                    tell(peer=f"PyTorch {torch.__version__} + nvJPEG, {count} a batch", work=work, wall=wall / count, cpu=cpu / count,
                         gpu=gpu)
                except Exception as error:
                    tell(peer=f"PyTorch, {work}", missing=repr(error)[:200])
        if encode_jpeg:
            encoded = [torch.from_numpy(np.fromfile(os.path.join(FRAMES, f"W1-{i}.jpg"), np.uint8)) for i in range(COUNT)]

            def w1(index):
                pictures = decode_jpeg(encoded, mode=ImageReadMode.RGB, device="cuda")
                small = F.interpolate(torch.stack(pictures).float(), size=(360, 640), mode="area").round_().to(torch.uint8)
                for one in encode_jpeg([picture.contiguous() for picture in small], quality=80):
                    one.cpu()

            try:
                wall, cpu = timed(w1)
                tell(peer="nvJPEG both ways, 8 a batch", work="W1", wall=wall / COUNT, cpu=cpu / COUNT)
            except Exception as error:
                tell(peer="nvJPEG, W1", missing=repr(error)[:200])


KERNEL = r"""
extern "C" __global__ void mean(const unsigned *plane, unsigned *words) {
  unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  unsigned from = y * 1440 + x * 3, even[3] = {0, 0, 0}, odd[3] = {0, 0, 0};
  for (int row = 0; row < 3; ++row, from += 480)
    for (int i = 0; i < 3; ++i) {
      unsigned word = plane[from + i];
      even[i] += word & 0x00ff00ffu;
      odd[i] += word >> 8 & 0x00ff00ffu;
    }
  unsigned s[12];
  for (int i = 0; i < 3; ++i)
    s[i * 4] = even[i] & 65535, s[i * 4 + 1] = odd[i] & 65535, s[i * 4 + 2] = even[i] >> 16, s[i * 4 + 3] = odd[i] >> 16;
  unsigned four = 0;
  for (int i = 0; i < 4; ++i) four |= ((s[i * 3] + s[i * 3 + 1] + s[i * 3 + 2]) * 2 + 9) / 18 << i * 8;
  words[blockIdx.z * 57600 + y * 160 + x] = four;
}
"""


def cupy(np, frames):
    try:
        import cupy
        kernel = cupy.RawKernel(KERNEL, "mean")
        planes = [cupy.asarray(np.roll(frames[i % COUNT][:HEIGHT], i * 64, 1).copy()) for i in range(32)]
    except Exception as error:
        tell(peer="CuPy", missing=repr(error)[:200])
        return
    for count in (1, 4, 16):
        output = cupy.zeros((count, 360, 640), cupy.uint8)
        run = lambda index: kernel((5, 90, count), (32, 4), (planes[index % 32], output))
        times = []
        for batch in range(30):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            for index in range(64):
                run(batch * 64 + index)
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(begin, end) / 64)
        run(3)
        plane = planes[3].get().astype(int)
        sums = plane.reshape(360, 3, 640, 3).sum((1, 3))
        is_right = bool((output.get() == (sums * 2 + 9) // 18).all())
        middle = sorted(times)[15]
        tell(peer=f"CUDA kernel, {count} views", work="1080p luma -> 640x360, ms a view" + ("" if is_right else ", WRONG"),
             wall=middle / count, cpu=-1, gpu=middle / count)


main()
