#!/usr/bin/python3
"""An RTSP server for tests, on a free port of loopback, which it prints.

Needs Debian's python3-gi, gir1.2-gst-rtsp-server-1.0, gstreamer1.0-plugins-base, -good (RTP, JPEG) and -ugly (x264).

  /bars    H.264, 320x240, the eight colours of SMPTE's bars, 25 pictures a second
  /tcp /udp  the same over this transport alone
  /jpeg    the same as JPEGs
  /short   thirty pictures, then the end
  /bframes H.264 with two B pictures after each P picture
  /sizes   320x240 and 160x120 in turn, every ten pictures
  /sound   no video

With --auth basic and --auth digest all are for user "user" with password "secret". With --tls FILE, a key and its certificate, they come over TLS.
A line "drop" on standard input ends all connections; "quit", or its end, ends the server.
"""
import asyncio
import ssl
import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtsp", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402

Gst.init(None)
if "--check" in sys.argv:
    missing = [name for name in ("x264enc", "rtph264pay", "jpegenc", "rtpjpegpay") if not Gst.ElementFactory.find(name)]
    sys.exit(", ".join(missing) if missing else 0)

SIZE = "video/x-raw,format=I420,width={},height={},framerate=25/1,colorimetry=bt601"
H264 = "x264enc tune=zerolatency speed-preset=ultrafast bitrate=4000 key-int-max=10 ! rtph264pay name=pay0 pt=96"
BFRAMES = "x264enc speed-preset=veryfast bitrate=4000 key-int-max=10 rc-lookahead=0 sync-lookahead=0 bframes=2 b-adapt=false ! video/x-h264,profile=main ! rtph264pay name=pay0 pt=96"
BARS = "videotestsrc is-live=true pattern=smpte{} ! " + SIZE.format(320, 240)


def factory(launch, shared=True, transports=None):
    result = GstRtspServer.RTSPMediaFactory()
    result.set_launch("( " + launch + " )")
    result.set_shared(shared)
    result.set_latency(0)
    if transports is not None:
        result.set_protocols(transports)
    return result


class Sizes(GstRtspServer.RTSPMediaFactory):
    """Changes its pictures' size while it runs."""

    def do_configure(self, media):
        filter, count = media.get_element().get_by_name("size"), [0]

        def change(_, info):
            count[0] += 1
            if count[0] % 10 == 0:
                size = (160, 120) if count[0] % 20 else (320, 240)
                GLib.idle_add(lambda: filter.set_property("caps", Gst.Caps.from_string(SIZE.format(*size))))
            return Gst.PadProbeReturn.OK

        filter.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, change)


server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service("0")
mounts = server.get_mount_points()
mounts.add_factory("/bars", factory(BARS.format("") + " ! " + H264))
mounts.add_factory("/tcp", factory(BARS.format("") + " ! " + H264, transports=GstRtsp.RTSPLowerTrans.TCP))
mounts.add_factory("/udp", factory(BARS.format("") + " ! " + H264, shared=False, transports=GstRtsp.RTSPLowerTrans.UDP))
mounts.add_factory("/bframes", factory(BARS.format("") + " ! " + BFRAMES))
mounts.add_factory("/jpeg", factory(BARS.format("") + " ! jpegenc quality=95 ! rtpjpegpay name=pay0 pt=26"))
mounts.add_factory("/short", factory(BARS.format(" num-buffers=30") + " ! " + H264, shared=False))
mounts.add_factory("/sound", factory("audiotestsrc is-live=true ! alawenc ! rtppcmapay name=pay0 pt=8"))
sizes = Sizes()
sizes.set_launch(f"( videotestsrc is-live=true ! videoscale ! capsfilter name=size caps={SIZE.format(320, 240)} ! {H264} )")
sizes.set_shared(True)
sizes.connect("media-configure", lambda factory, media: factory.do_configure(media))
mounts.add_factory("/sizes", sizes)

if "--auth" in sys.argv:
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "user")
    role = Gst.Structure.new_empty("user")
    role.set_value("media.factory.access", True)
    role.set_value("media.factory.construct", True)
    mounts.match("/bars")[0].add_role_from_structure(role)
    auth = GstRtspServer.RTSPAuth()
    if "digest" in sys.argv:
        auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
        auth.add_digest("user", "secret", token)
    else:
        auth.add_basic(GstRtspServer.RTSPAuth.make_basic("user", "secret"), token)
    server.set_auth(auth)



def serve_tls(certificate, port):
    """Talks TLS on a port of its own, which it gives, and passes everything on to the other one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def copy(source, target):
        try:
            while data := await source.read(65536):
                target.write(data)
                await target.drain()
        except OSError:
            pass
        finally:
            target.close()

    async def relay(reader, writer):
        inner = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, inner[1]), copy(inner[0], writer))

    tls = asyncio.new_event_loop()
    listener = tls.run_until_complete(asyncio.start_server(relay, "127.0.0.1", 0, ssl=context))
    threading.Thread(target=tls.run_forever, daemon=True).start()
    return listener.sockets[0].getsockname()[1]


loop = GLib.MainLoop()


def command(source, condition):
    line = sys.stdin.readline().strip()
    if line == "drop":
        server.client_filter(lambda server, client: GstRtspServer.RTSPFilterResult.REMOVE)
    elif line in ("quit", ""):
        loop.quit()
        return False
    return True


server.attach(None)
port = server.get_bound_port()
print(serve_tls(sys.argv[sys.argv.index("--tls") + 1], port) if "--tls" in sys.argv else port, flush=True)
GLib.io_add_watch(sys.stdin, GLib.PRIORITY_DEFAULT, GLib.IO_IN | GLib.IO_HUP, command)
loop.run()
