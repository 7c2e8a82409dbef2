// A view by WebRTC in a real browser.
import Foundation
import Testing

/// Whether the machine has the libraries that WebRTC needs; an encoder is there where FFmpeg is.
let hasWebRTC = ["libssl.so.3", "libsrtp2.so.1"].allSatisfy { name in
  ["/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"].contains {
    FileManager.default.fileExists(atPath: "\($0)/\(name)")
  }
}

/// Debian's Python with aiortc, which shares no code with browsers.
private let hasAIORTC = FileManager.default.fileExists(atPath: "/usr/lib/python3/dist-packages/aiortc")

extension DashboardTests {
  @Test(
    "an aiortc client plays a view by WebRTC with 0, 10 and 30 % packet loss",
    .enabled(
      if: hasWebRTC && hasAIORTC,
      "libssl3, libsrtp2-1 or python3-aiortc is missing here: scripts/setup browser"),
    arguments: [(0, "audio video"), (0, "video audio data"), (0, "data video"), (10, "video"), (30, "video")])
  func aiortc(percent: Int, kinds: String) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "Support/webrtc_client.py")
    try await withService(Self.cameras) { service in
      let client = try LocalProcess(
        "/usr/bin/python3",
        [script.path, service.address.absoluteString + "cameras/bars/main/whep", "40", "\(percent)"]
          + kinds.split(separator: " ").map(String.init))
      let seen = try await client.said(/(pictures=.*)/)
      #expect(seen.hasPrefix("pictures=40 size=640x360 left=yellow right=red lost="))
      #expect(seen.hasSuffix("lost=0") == (percent == 0))
      await client.end()
    }
  }

  @Test(
    "a browser plays a view by WebRTC, and its transport closes when the session is deleted",
    .enabled(if: hasWebRTC, "libssl3 or libsrtp2-1 is missing here: scripts/setup"))
  func webRTC() async throws {
    try await withBrowser(Self.cameras) { browser, _ in
      // As WHEP wants it (RFC 9725, 4.4): all by one transport, audio and data beside video, in any order.
      for kinds in ["['audio', 'video', 'data']", "['video', 'video', 'audio']"] {
        _ = try await browser.run(Self.player(of: kinds, "{bundlePolicy: 'max-bundle'}"))
        try await browser.wait(
          "pictures of \(kinds)", until: "window.seen?.frames > 5 && window.seen.left === 'yellow'")
        _ = try await browser.run("window.connection.close()")
      }

      _ = try await browser.run(Self.player(of: "['audio', 'video']", "{}"))

      // The sixth bar is red, and the second yellow.
      try await browser.wait("pictures", until: "window.seen?.frames > 20 && window.seen.left === 'yellow'")
      #expect(try await browser.text("return window.seen.size") == "640x360")
      #expect(try await browser.text("return window.seen.right") == "red")
      #expect(try await browser.number("return window.seen.status") == 201)
      #expect(try await browser.text("return window.connection.connectionState") == "connected")

      let gone = try await browser.text(
        """
        const asked = new XMLHttpRequest();
        asked.open('DELETE', window.seen.location, false);
        asked.send();
        return `${asked.status}`;
        """)
      #expect(gone == "200")
      try await browser.wait(
        "the end", until: "window.connection.getReceivers().at(-1).transport.state === 'closed'")
    }
  }

  /// Plays a view as a page of somebody's own would, and keeps what it sees in `seen`.
  static func player(of kinds: String, _ configuration: String, view: String = "bars/main") -> String {
    WatchedVideo.element + """
      const connection = window.connection = new RTCPeerConnection(\(configuration));
      for (const kind of \(kinds)) {
        if (kind === 'data') connection.createDataChannel('data');
        else connection.addTransceiver(kind, {direction: 'recvonly'});
      }
      connection.ontrack = ({track}) => { if (track.kind === 'video') video.srcObject ??= new MediaStream([track]); };
      (async () => {
        await connection.setLocalDescription(await connection.createOffer());
        const answer = await fetch('cameras/\(view)/whep', {method: 'POST',
          headers: {'Content-Type': 'application/sdp'}, body: connection.localDescription.sdp});
        Object.assign(seen, {status: answer.status, location: answer.headers.get('Location')});
        await connection.setRemoteDescription({type: 'answer', sdp: await answer.text()});
      })();
      """
  }
}
