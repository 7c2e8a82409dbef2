"""The machine: its libraries, its driver, and what it says of itself."""
import glob
import json
import lzma
import os
import platform
import re
import shutil
import subprocess
import time

from kit import HERE, table

SOFTWARE = re.compile("llvmpipe|softpipe|swrast|swiftshader|lavapipe", re.I)
LOADER = "/lib64/ld-linux-x86-64.so.2"
GLIBC = ("libc.so.6", "libm.so.6")


class TooOld(Exception):
    pass


def wanted(kit, program):
    """The libraries that are missing for a program, or are too old for it."""
    ran = kit.run([LOADER, "--list", program], 20)
    text = ran.out + ran.err
    missing = re.findall(r"^\s*(\S+) => not found", text, re.M)
    missing += re.findall(r"error while loading shared libraries: ([^:]*):", text)
    return missing + re.findall(r"([^/\s:]*): version `[^']*' not found", text)


def set_up(kit):
    """Unpacks what runs here, and decides which libraries it takes; lines that say so.

    Raises TooOld where glibc is older than that of the machine that packed.
    """
    with lzma.open(os.path.join(HERE, "glpreview.xz")) as packed, open(kit.command, "wb") as file:
        shutil.copyfileobj(packed, file, 1 << 20)
    shutil.copy(os.path.join(HERE, "probe"), kit.probe)
    os.chmod(kit.command, 0o755), os.chmod(kit.probe, 0o755)
    kit.libraries.append(os.path.join(HERE, "lib", "own"))
    kit.libraries += [folder for folder in ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib") if os.path.isdir(folder)]
    folder = os.path.join(kit.work, "lib")
    os.makedirs(folder)
    kit.libraries.append(folder)
    taken, lacking = [], set()
    while True:
        names = {name for program in (kit.command, kit.probe) for name in wanted(kit, program)} - lacking - set(taken)
        if not names:
            break
        if names & set(GLIBC):
            raise TooOld(f"this machine's glibc {platform.libc_ver()[1]} is too old; README.md says what it takes")
        for name in sorted(names):
            take(folder, name, taken, lacking)
    # What is loaded on first use.
    for path in sorted(glob.glob(os.path.join(HERE, "lib", "other", "*"))):
        name = os.path.basename(path)
        if name not in taken and name.startswith(("libwebp", "libsharpyuv", "libopenh264")):
            take(folder, name, taken, lacking)
    if lacking:
        kit.failed("libraries are missing: " + " ".join(sorted(lacking)))
    return ["libraries from the kit: " + (" ".join(sorted(taken)) or "none")]


def take(folder, name, taken, lacking):
    path = os.path.join(HERE, "lib", "other", name)
    if os.path.exists(path):
        os.symlink(path, os.path.join(folder, name))
        taken.append(name)
    else:
        lacking.add(name)


def vendor_choices(kit):
    """Variables to try: none, then each of NVIDIA's vendor files, then a file of our own for its library."""
    yield {}
    files = ["/usr/local/nvidia/share/glvnd/egl_vendor.d/10_nvidia.json"]
    for folder in ("/usr/share/glvnd/egl_vendor.d", "/etc/glvnd/egl_vendor.d", "/usr/local/share/glvnd/egl_vendor.d"):
        files += sorted(glob.glob(folder + "/*nvidia*.json"))
    for file in files:
        if os.path.exists(file):
            yield {"__EGL_VENDOR_LIBRARY_FILENAMES": file}
    for folder in ("/usr/local/nvidia", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/cuda/compat", "/opt/nvidia"):
        for library in sorted(glob.glob(folder + "/**/libEGL_nvidia.so*", recursive=True))[:2]:
            file = os.path.join(kit.work, "nvidia.json")
            with open(file, "w") as text:
                json.dump({"file_format_version": "1.0.0", "ICD": {"library_path": library}}, text)
            yield {"__EGL_VENDOR_LIBRARY_FILENAMES": file}


def find_driver(kit):
    """Chooses the variables with which hardware draws, else those with which anything does; what the driver tells, or None."""
    chosen = None
    for vendor in vendor_choices(kit):
        kit.vendor = vendor
        ran = kit.run([kit.probe, "--info", *probe_device(kit)], 25)
        found = re.search(r"^GL renderer: (.*)$", ran.out, re.M)
        kit.log(f"driver with {vendor or 'no variables'}: {found.group(1) if found else ran.reason()}")
        if not found:
            continue
        is_software = bool(SOFTWARE.search(found.group(1)))
        kit.has_llvmpipe = kit.has_llvmpipe or is_software
        if chosen is None or not is_software:
            chosen = (vendor, found.group(1), ran.out)
        if not is_software or kit.gpu == "llvmpipe":
            break
    kit.vendor = {}
    if chosen is None:
        kit.failed("no driver of EGL with OpenGL ES 3.1 is found; log.txt has what was tried")
        return None
    kit.vendor, kit.renderer, text = chosen
    kit.is_hardware = not SOFTWARE.search(kit.renderer)
    return text


def probe_device(kit):
    return ["--software"] if kit.gpu == "llvmpipe" else ["--device", kit.gpu] if kit.gpu.isdigit() else []


def diagnose(kit):
    """What explains that a driver is absent, into the log."""
    kit.run(["sh", "-c",
             "ls -la /dev/nvidia* /dev/dri /usr/local/nvidia/lib64 /usr/share/glvnd/egl_vendor.d /etc/glvnd/egl_vendor.d; "
             "PATH=$PATH:/sbin ldconfig -p | grep -iE 'nvidia|EGL|GLES|GLdispatch|cuda'; env | grep -iE 'nvidia|EGL|LD_LIB'; "
             "find / -xdev -name 'libEGL_nvidia*' -o -xdev -name '10_nvidia*.json' 2>/dev/null | head; uname -a; nproc"], 25)


def nvidia(kit):
    """What nvidia-smi tells of the first card; None without it. Its settings are only read."""
    fields = ("name,driver_version,vbios_version,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,"
              "memory.total,clocks.max.sm,clocks.max.mem,power.limit,mig.mode.current,compute_mode")
    ran = kit.run(["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader"], 20)
    if not ran.is_right:
        return None
    kit.run(["nvidia-smi", "-q"], 20)
    return dict(zip(fields.split(","), [value.strip() for value in ran.out.strip().splitlines()[0].split(",")]))


def watch_load(kit):
    """The card's load and clocks once a second, in gpu.csv; the process that writes them, or None."""
    if not shutil.which("nvidia-smi"):
        return None
    fields = ("timestamp,utilization.gpu,utilization.memory,clocks.sm,clocks.mem,pcie.link.gen.current,"
              "pcie.link.width.current,power.draw,temperature.gpu,memory.used")
    with open(kit.path("gpu.csv"), "w") as file:
        return subprocess.Popen(["nvidia-smi", "--query-gpu=" + fields, "--format=csv", "-l", "1"], stdout=file,
                                stderr=subprocess.DEVNULL, start_new_session=True)


def system_name():
    try:
        with open("/etc/os-release") as file:
            return re.search(r'^PRETTY_NAME="?([^"\n]*)', file.read(), re.M).group(1)
    except (OSError, AttributeError):
        return "unknown system"


def lines(kit, notes, driver, card):
    with open("/proc/cpuinfo") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "?")
    version = kit.glpreview("--version", limit=20).out.strip() or "?"
    said = [f"Measured on {time.strftime('%Y-%m-%d', time.gmtime())}: {kit.renderer}"
            f"{'' if kit.is_hardware else ' (NO GPU WAS FOUND)'}, {os.cpu_count()} cores of {cpu}, {system_name()}, "
            f"Linux {platform.release()}, glibc {platform.libc_ver()[1]}, glpreview {version}, --gpu {kit.gpu}."]
    if driver:
        found = dict(re.findall(r"^((?:GL|EGL) \w+): (.*)$", driver, re.M))
        said.append("; ".join(f"{key} {found[key]}" for key in ("EGL vendor", "EGL version", "GL version") if key in found) + ".")
    if card:
        said.append("nvidia-smi: " + ", ".join(f"{key} {value}" for key, value in card.items() if value != "[N/A]") + ".")
    said.append("; ".join(notes) + "; variables: " + (" ".join(f"{k}={v}" for k, v in kit.vendor.items()) or "none") + ".")
    return said


def devices(kit):
    kit.glpreview("devices", "--gpu", kit.gpu)
    ran = kit.glpreview("devices", "--json", "--gpu", kit.gpu)
    if not ran.is_right:
        kit.failed("devices: " + ran.reason())
        return
    found = json.loads(ran.out)
    rows = [[d.get("index", "cpu"), d.get("renderer", "?"), d.get("driver", "?"), d.get("glesVersion", "-"),
             d.get("maximumTextureSize", "?"),
             "picked" if d.get("picked") else "works" if d.get("works") else d.get("reason", "fails")] for d in found["devices"]]
    encoders = ", ".join(f"{e['name']} {'works' if e['works'] else 'no'}" for e in found.get("encoders", []))
    kit.section("Devices", table(["device", "renderer", "driver", "OpenGL ES", "texture", ""], rows)
                + ["", f"Video encoders: {encoders}."], found)
    if kit.is_hardware and kit.gpu == "auto" and all(d.get("software") for d in found["devices"] if d.get("picked")):
        kit.failed("glpreview picked software although the probe found " + kit.renderer)
