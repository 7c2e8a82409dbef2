// What a page of somebody's own does to play a view: its video element, and what it sees of it.

/// JavaScript that the tests' pages share.
enum WatchedVideo {
  /// `named(data)`: the name of a pixel's colour, as the bars of `smpte` are called.
  static let colors = """
    const named = (data) => {
      const [r, g, b] = [...data].map((value) => value > 96);
      return {'true,true,true': 'grey', 'true,true,false': 'yellow', 'false,true,true': 'cyan', 'false,true,false': 'green',
        'true,false,true': 'magenta', 'true,false,false': 'red', 'false,false,true': 'blue'}[[r, g, b]] ?? 'black';
    };

    """

  /// `video`, which is all that the page shows, and `seen`, which is kept in the window: how many frames it has shown, its time
  /// and its size, and the colours of the second and the sixth bar of a video of 640x360.
  static let element =
    colors + """
      const video = document.createElement('video');
      Object.assign(video, {muted: true, autoplay: true});
      document.body.replaceChildren(video);
      const seen = window.seen = {frames: 0, time: 0};
      const context = new OffscreenCanvas(640, 360).getContext('2d', {willReadFrequently: true});
      const look = () => {
        context.drawImage(video, 0, 0);
        const [left, right] = [137, 502].map((x) => named(context.getImageData(x, 60, 1, 1).data));
        Object.assign(seen, {frames: seen.frames + 1, time: video.currentTime,
          size: `${video.videoWidth}x${video.videoHeight}`, left, right});
        video.requestVideoFrameCallback(look);
      };
      video.requestVideoFrameCallback(look);

      """
}
