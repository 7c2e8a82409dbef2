#!/usr/bin/env python3
"""Plays a view by WHEP with aiortc, through a relay that loses packets, and says what it saw.

    webrtc_client.py URL PICTURES PERCENT [KIND ...]

Offers KINDs to URL (`video`, `audio` or `data`, in this order; video unless told), reads so many pictures, and prints one line: `pictures=40 size=640x360 left=yellow right=red lost=123`. The
relay stands between both on loopback. It loses so many in a hundred of the media packets that the service sends, the same
ones in each run as far as they come in the same order.
"""
import asyncio
import random
import re
import sys
import urllib.request

from aiortc import RTCPeerConnection, RTCSessionDescription


class Side(asyncio.DatagramProtocol):
    """One socket of the relay; `pass_on(bytes, address)` gets what it receives."""

    def __init__(self, pass_on):
        self.pass_on = pass_on

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        self.pass_on(data, address)

    def error_received(self, error):
        pass


class Relay:
    """Stands in for the service's port."""

    def __init__(self, service, percent):
        self.service, self.percent, self.client, self.lost = service, percent, None, 0
        self.random = random.Random(1)

    async def open(self):
        loop = asyncio.get_running_loop()
        _, self.front = await loop.create_datagram_endpoint(lambda: Side(self.to_service), ("127.0.0.1", 0))
        _, self.back = await loop.create_datagram_endpoint(lambda: Side(self.to_client), ("127.0.0.1", 0))
        return self.front.transport.get_extra_info("sockname")[1]

    def to_service(self, data, address):
        self.client = address
        self.back.transport.sendto(data, self.service)

    def to_client(self, data, _):
        # RFC 7983: RTP and RTCP begin with 128 to 191; RFC 5761: RTCP's types are 192 to 223.
        is_media = 128 <= data[0] <= 191 and not 192 <= data[1] <= 223
        if is_media and self.random.random() * 100 < self.percent:
            self.lost += 1
        elif self.client:
            self.front.transport.sendto(data, self.client)


def colour(pixel):
    return {(True, True, False): "yellow", (True, False, False): "red"}.get(tuple(part > 96 for part in pixel), "another")


def offered(url, sdp):
    """The answer to an offer."""
    request = urllib.request.Request(url, sdp.encode(), {"Content-Type": "application/sdp"})
    return urllib.request.urlopen(request).read().decode()


async def play(url, count, percent, kinds):
    connection = RTCPeerConnection()
    for kind in kinds:
        if kind == "data":
            connection.createDataChannel("data")
        else:
            connection.addTransceiver(kind, direction="recvonly")
    tracks = asyncio.Queue()
    connection.on("track", lambda track: track.kind == "video" and tracks.put_nowait(track))
    await connection.setLocalDescription(await connection.createOffer())
    answer = await asyncio.to_thread(offered, url, connection.localDescription.sdp)
    address, port = re.search(r"a=candidate:\S+ \d+ udp \d+ (127\.0\.0\.1) (\d+) typ host", answer, re.I).groups()
    relay = Relay((address, int(port)), percent)
    own = await relay.open()
    answer = answer.replace(f" {address} {port} typ host", f" {address} {own} typ host")
    await connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    track = await tracks.get()
    for _ in range(count):
        picture = await track.recv()
    pixels = picture.to_ndarray(format="rgb24")
    print(f"pictures={count} size={picture.width}x{picture.height} left={colour(pixels[60, 137])} "
          f"right={colour(pixels[60, 502])} lost={relay.lost}", flush=True)
    await connection.close()


asyncio.run(play(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:] or ["video"]))
