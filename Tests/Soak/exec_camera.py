#!/usr/bin/env python3
"""What the service runs as an exec: camera: copies JPEGs from the harness, and tells it what it was given by its parent.

    exec_camera.py URL MARK     MARK is in the environment of nobody but the service
"""
import os
import sys
import urllib.request

secrets = sum(sys.argv[2] in value for value in os.environ.values())
# Beside the standard ones there is the folder that is being listed.
strangers = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")
             if int(number) > 2 and os.path.exists(f"/proc/self/fd/{number}")]
strangers = [name for name in strangers if name.startswith(("socket:", "/dev/dri", "/dev/video", "anon_inode:"))]
try:
    with urllib.request.urlopen(f"{sys.argv[1]}?secrets={secrets}&descriptors={len(strangers)}") as answer:
        while piece := answer.read1(65536):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
except OSError:
    # The camera refuses, or nobody reads any more.
    os._exit(1)
