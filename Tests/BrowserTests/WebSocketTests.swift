// A view by WebSocket and Media Source Extensions in a real browser.
import Testing

extension DashboardTests {
  @Test(
    "a browser plays a view by WebSocket for 12 s with a 5 s buffer; closing removes the client"
  )
  func webSocket() async throws {
    try await withBrowser(Self.cameras) { browser, service in
      _ = try await browser.run(Self.player)

      // The page keeps 5 seconds: where there were no key picture in these, nothing would be left.
      try await browser.wait("12 seconds", until: "window.seen.time > 12 || window.seen.error")
      #expect(try await browser.text("return window.seen.error ?? ''") == "")
      #expect(try await browser.text("return window.seen.type") == "mse")
      #expect(try await browser.text("return window.seen.size") == "640x360")
      // The second bar is yellow, and the sixth red.
      #expect(try await browser.text("return window.seen.left") == "yellow")
      #expect(try await browser.text("return window.seen.right") == "red")
      #expect(try await browser.number("return window.seen.removed") > 0)

      _ = try await browser.run("window.socket.close()")
      try await awaited("the client to be forgotten") {
        try await service.watchers(of: "bars") == 0 ? true : nil
      }
    }
  }

  /// Plays `bars/main` as a page of somebody's own would, removes what is older than 5 seconds, and keeps what it sees in
  /// `seen`.
  private static let player =
    WatchedVideo.element + """
      seen.removed = 0;
      const media = new MediaSource();
      video.src = URL.createObjectURL(media);
      media.onsourceopen = () => {
        const address = new URL('api/ws?src=bars/main', location.href);
        address.protocol = 'ws:';
        const socket = window.socket = new WebSocket(address);
        socket.binaryType = 'arraybuffer';
        const waiting = [];
        let buffer;
        const feed = () => {
          if (!buffer || buffer.updating) return;
          const {buffered} = buffer;
          if (buffered.length && buffered.end(buffered.length - 1) - buffered.start(0) > 8) {
            seen.removed++;
            buffer.remove(buffered.start(0), buffered.end(buffered.length - 1) - 5);
          } else if (waiting.length) {
            buffer.appendBuffer(waiting.shift());
          }
        };
        socket.onopen = () => socket.send(JSON.stringify({type: 'mse', value: 'avc1.640029,avc1.42c01e'}));
        socket.onmessage = ({data}) => {
          if (typeof data !== 'string') { waiting.push(data); return feed(); }
          const {type, value} = JSON.parse(data);
          seen.type = type;
          if (type === 'error') { seen.error = value; return; }
          buffer = media.addSourceBuffer(value);
          buffer.onupdateend = feed;
          buffer.onerror = () => { seen.error = 'a part is refused'; };
        };
      };
      """
}
