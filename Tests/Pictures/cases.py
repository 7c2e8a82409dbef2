"""The list of cases: every filter and format, warps of every kind, and edge sizes."""
from case import Case
from filters import FILTERS
from warp import Warp


def warped_cases():
    fish, pinhole = "fisheye fov 190", "pinhole matrix 201.5,199.25,143.2,80.9 distortion -0.21,0.06,0.004,-0.003,-0.01"
    calibrated = "fisheye matrix 220.5,221.5,287.5,161.25 size 576x324 distortion 0.02,-0.012,0.004,-0.0011"
    board = "31,-7 251,22 270,171 20,133"
    for form in ("rgb24", "y4m"):
        for name in ("area", "bilinear", "bicubic", "nearest"):
            yield Warp(form, (160, 90), name, lens=fish, yaw=31, pitch=-17, roll=8, hfov=67)
            yield Warp(form, (75, 43), name, lens=pinhole, projection="flat")
            yield Warp(form, (61, 47), name, mode="stretch", corners=board)
            yield Warp(form, (97, 55), name, rotate=12.5)
    for form in ("rgba", "nv12"):
        yield Warp(form, (96, 54), "area", lens="fisheye curve equisolid fov 171", yaw=-40, hfov=95)
        yield Warp(form, (120, 61), "area", lens="fisheye curve stereographic fov 201 center 140,85 radius 88",
                   projection="equirectangular", pitch=21, hfov=222)
        yield Warp(form, (144, 80), "auto", lens=calibrated, projection="cylinder", yaw=12, pitch=9, hfov=131)
        yield Warp(form, (111, 64), "area", lens="ptlens 0.012,-0.031,0.004 fov 68", projection="flat")
        yield Warp(form, (36, 20), "area", lens=fish, projection="equirectangular", yaw=170, hfov=360)
        yield Warp(form, (500, 281), "bicubic", lens=calibrated, yaw=-55, pitch=33, hfov=41)
        yield Warp(form, (54, 96), "area", rotate=90, mirror="horizontal", lens=fish, yaw=20, hfov=80)
        yield Warp(form, (70, 50), "area", crop=(41, 22, 121, 99), lens=fish, hfov=120)
    for form in ("i420", "yuyv", "png"):
        crop = (21, 37, 101, 160) if form == "png" else (37, 21, 160, 101)
        yield Warp(form, (131, 87), "area", mode="fit", rotate=-23.4)
        yield Warp(form, (64, 64), "bicubic", mode="fit", crop=crop, rotate=98.5, mirror="horizontal")
        yield Warp(form, (41, 23), "area", mode="fit", corners="12,9 150,3 140,158 5,120")
        yield Warp(form, (333, 200), "bilinear", corners="140,22 45,3 51,78 158,91")
        yield Warp(form, (37, 21), "area", rotate=3.7)
        yield Warp(form, (1, 1), "area", rotate=33)
        yield Warp(form, (1, 1), "bicubic", lens=fish, yaw=5, hfov=20)


def cases():
    sizes = [(96, 54), (75, 43), (24, 13), (288, 162), (384, 216)]
    for form in ("rgb24", "rgba", "nv12", "yuyv", "i420"):
        for name in FILTERS:
            for size in sizes:
                yield Case(form, size, name)
            yield Case(form, (60, 60), name, crop=(41, 22, 120, 100), mirror="horizontal")
            yield Case(form, (54, 96), name, rotate=90, matrix="bt709", range="full")
            for size in ((96, 54), (75, 43), (384, 216)):
                yield Case(form, size, name, linear=True)
    yield from warped_cases()
