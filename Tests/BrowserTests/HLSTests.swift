// A view by HLS and Media Source Extensions in a real browser, as hls.js plays it.
import Testing

extension DashboardTests {
  @Test(
    "a browser plays HLS segments without gaps in the right colours, and its client then expires")
  func hls() async throws {
    try await withBrowser(Self.cameras) { browser, service in
      _ = try await browser.run(Self.hlsPlayer)

      // Of at least three segments.
      try await browser.wait("6 seconds", until: "window.seen.played > 6 || window.seen.error")
      #expect(try await browser.text("return window.seen.error ?? ''") == "")
      #expect(try await browser.number("return window.seen.segments") >= 3)
      #expect(try await browser.text("return window.seen.size") == "640x360")
      // The second bar is yellow, and the sixth red.
      #expect(try await browser.text("return window.seen.left") == "yellow")
      #expect(try await browser.text("return window.seen.right") == "red")
      // Each segment begins where the last one ended.
      #expect(try await browser.number("return window.seen.ranges") == 1)

      _ = try await browser.run("window.seen.isOver = true")
      try await awaited("the client to be forgotten") {
        try await service.watchers(of: "bars") == 0 ? true : nil
      }
    }
  }

  /// Plays `bars/main`, and keeps what it sees in `seen`.
  private static let hlsPlayer =
    WatchedVideo.element + """
      const path = new URL('cameras/bars/main.m3u8', location.href);
      const get = async (uri) => {
        const answer = await fetch(new URL(uri, path));
        if (!answer.ok) throw new Error(`${answer.status} for ${uri}`);
        return answer;
      };
      const bytes = async (uri) => new Uint8Array(await (await get(uri)).arrayBuffer());
      const play = async () => {
        const media = new MediaSource();
        video.src = URL.createObjectURL(media);
        await new Promise((done) => { media.onsourceopen = done; });
        let text = await (await get(path)).text();
        const init = await bytes(text.match(/URI="([^"]+)"/)[1]);
        // The codec is in the first bytes of the decoder's configuration.
        const at = String.fromCharCode(...init).indexOf('avcC') + 5;
        const codec = [0, 1, 2].map((i) => init[at + i].toString(16).padStart(2, '0')).join('');
        const buffer = media.addSourceBuffer(`video/mp4; codecs="avc1.${codec}"`);
        const append = (data) => new Promise((done, failed) => {
          buffer.onupdateend = done;
          buffer.onerror = () => failed(new Error('a segment is refused'));
          buffer.appendBuffer(data);
        });
        await append(init);
        const known = new Set();
        let begin;
        while (!seen.isOver) {
          for (const uri of text.split('\\n').filter((line) => line && line[0] !== '#' && !known.has(line))) {
            known.add(uri);
            await append(await bytes(uri));
            if (begin === undefined) {
              begin = video.currentTime = buffer.buffered.start(0);
              video.play();
            }
          }
          Object.assign(seen, {segments: known.size, played: video.currentTime - begin, ranges: buffer.buffered.length});
          await new Promise((done) => { setTimeout(done, 300); });
          text = await (await get(path)).text();
        }
      };
      play().catch((error) => { seen.error = `${error}`; });
      """
}
