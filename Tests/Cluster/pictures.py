"""The store of pictures: takes the pictures of schedules by HTTP PUT, and notes each in the journal. It keeps no picture."""
import calendar
import errno
import hashlib
import http.server
import socketserver
import sys
import threading
import time

from network import BRIDGE

PORT = 8090
# Errors of connections of nodes that are cut off, besides `ConnectionError` and `TimeoutError`.
CUT_OFF = {errno.EHOSTUNREACH, errno.ENETUNREACH}


def seconds(moment):
    """Seconds since 1970 of a moment, as names and logs write it; None if it is none."""
    try:
        return calendar.timegm(time.strptime(moment.replace(":", "-"), "%Y-%m-%dT%H-%M-%SZ"))
    except ValueError:
        return None


class PictureStore(socketserver.ThreadingTCPServer):
    """Listens at the bridge, which has every node as a neighbour, so that an address shows who sent a picture."""
    daemon_threads, allow_reuse_address, request_queue_size = True, True, 128
    url = f"http://{BRIDGE}:{PORT}/pictures"

    def __init__(self, network, journal):
        self.network, self.journal = network, journal
        super().__init__((BRIDGE, PORT), Receiver)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def note(self, address, path, picture):
        camera, view, name = path.removeprefix("/pictures/").split("/")
        moment = seconds(name.removesuffix(".jpg"))
        sender = next((each.name for each in list(self.network.machines.values()) if each.address == address), address)
        # By the journal's clock: nodes' clocks are among the faults.
        at = None if moment is None else round(moment - time.time() + self.journal.seconds(), 3)
        self.journal.add("picture", node=sender, camera=camera, view=view, name=name, moment=moment, at=at,
                         sum=hashlib.sha256(picture).hexdigest()[:16])

    def handle_error(self, request, client_address):
        """Notes all errors but those of connections of nodes that were killed or cut off."""
        error = sys.exc_info()[1]
        if isinstance(error, (ConnectionError, TimeoutError)) or isinstance(error, OSError) and error.errno in CUT_OFF:
            return
        self.journal.add("picture-error", reason=f"{client_address[0]}: {error!r}")


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version, timeout = "HTTP/1.1", 300

    def do_PUT(self):
        length = self.headers["Content-Length"]
        picture = self.rfile.read(int(length)) if length else b""
        # A node that is killed leaves a part of a request.
        if not length or len(picture) < int(length):
            self.close_connection = True
            return
        self.server.note(self.client_address[0], self.path, picture)
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass
