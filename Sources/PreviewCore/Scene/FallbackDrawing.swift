// Fallback pictures as layers.

/// A picture in place of a source's, and all that it depends on.
struct FallbackDrawing {
  let picture: FallbackPicture
  let state: FallbackState
  /// The source's last frame, and how it was seen.
  let lastFrame: FrameReference
  let view: ViewConfiguration
  let area: LayerArea
  let time: WallClockTime
  let text: (any TextRenderer)?

  private var shorterSide: Int { min(area.frame.width, area.frame.height) }
  private var spacing: Int { max(2, shorterSide / 24) }

  func draw(into stack: inout LayerStack) {
    switch picture {
    case .avatar(let image): draw(avatar: image, into: &stack)
    case .gradient(let gradient, let icon):
      stack.fill(area, with: .gradient(gradient))
      draw([icon.map { $0.bitmap(side: max(1, shorterSide / 3)) }, caption], into: &stack)
    case .lastFrameDimmed:
      stack.show(view, of: lastFrame, in: area, adjustment: .dimmed(to: 0.4))
      draw([caption], into: &stack)
    case .noSignal: drawNoSignal(into: &stack)
    }
  }

  private func draw(avatar image: StillImage, into stack: inout LayerStack) {
    let input = stack.input(.image(image))
    let view = ViewConfiguration()
    let blur = Blur(cell: shorterSide / 10)
    stack.fill(area, with: .blurred(input: input, view, blur), adjustment: .dimmed(to: 0.6))
    let side = max(1, shorterSide / 2)
    let caption = caption
    let sizes = [Size(width: side, height: side)] + (caption.map { [$0.size] } ?? [])
    let places = area.frame.column(sizes, spacing: spacing)
    stack.layers.append(Layer(.view(input: input, view), in: places[0], shape: .circle))
    if let caption, places.count > 1 { stack.put(caption, at: places[1]) }
  }

  private func drawNoSignal(into stack: inout LayerStack) {
    let bars = ViewConfiguration(contentMode: .stretch, filter: .nearest)
    stack.fill(area, with: .view(input: stack.input(.image(NoSignalPattern.image)), bars))
    let rows = [
      bitmap("NO SIGNAL", size: shorterSide / 9, weight: .bold),
      bitmap(state.words, size: shorterSide / 18), bitmap(since, size: shorterSide / 18),
    ].compactMap { $0 }
    let places = area.frame.column(rows.map(\.size), spacing: spacing)
    guard let first = places.first, let last = places.last else {
      return draw([Icon.warning.bitmap(side: max(1, shorterSide / 3))], into: &stack)
    }
    let width = places.reduce(0) { max($0, $1.width) }
    let panel = Size(width: width + 4 * spacing, height: last.y + last.height - first.y + 2 * spacing)
    if panel.width <= area.frame.width, panel.height <= area.frame.height {
      let place = area.frame.column([panel], spacing: 0)[0]
      stack.layers.append(Layer(.color(.black), in: place, shape: .rounded(Double(spacing)), opacity: 0.7))
    }
    for (row, place) in zip(rows, places) { stack.put(row, at: place) }
  }

  /// Below one another, in the middle.
  private func draw(_ bitmaps: [Bitmap?], into stack: inout LayerStack) {
    let bitmaps = bitmaps.compactMap { $0 }
    for (bitmap, place) in zip(bitmaps, area.frame.column(bitmaps.map(\.size), spacing: spacing)) {
      stack.put(bitmap, at: place)
    }
  }

  // MARK: words

  /// What happened, in a line. A source that was switched off is not excused unless somebody says why.
  private var caption: Bitmap? {
    switch state.reason {
    case .off where state.text.isEmpty: nil
    case .off, .opening: bitmap(state.words, size: shorterSide / 14)
    case .stalled, .lost: bitmap("\(state.words), \(since)", size: shorterSide / 14)
    }
  }

  /// The day only where it is another one.
  private var since: String {
    let moment = time.at(state.since)
    let isToday = TimeFormat.day.text(of: moment) == TimeFormat.day.text(of: time)
    return "since " + (isToday ? TimeFormat.clock : .standard).text(of: moment)
  }

  /// Nil where the area is too small to read anything.
  private func bitmap(_ words: String, size: Int, weight: FontWeight = .regular) -> Bitmap? {
    let room = Size(width: area.frame.width - 4 * spacing, height: area.frame.height - 2 * spacing)
    guard shorterSide >= 48, room.width > 0, room.height > 0 else { return nil }
    let font = Font(size: min(max(size, 9), 64), weight: weight)
    return text?.bitmap(for: StyledText(words, font: font, color: .white, maximumSize: room))
  }
}

extension FallbackState {
  /// Why, for people.
  fileprivate var words: String {
    guard text.isEmpty else { return text }
    return switch reason {
    case .off: "Off"
    case .opening: "Opening"
    case .stalled: "Stalled"
    case .lost: "Lost"
    }
  }
}

extension Fallback {
  /// The picture in place of a view of a source that gives nothing, in the view's own size.
  ///
  /// - Parameters:
  ///   - size: of the picture, in pixels.
  ///   - state: why there is nothing.
  ///   - source: by which its last frame is referred to.
  ///   - hasFrame: whether there is a last frame.
  ///   - view: how it was seen.
  ///   - time: what time it is.
  ///   - text: who draws words; nil leaves them out.
  /// - Returns: layers, and the frames that they want.
  package func composed(
    size: Size, state: FallbackState, of source: String, hasFrame: Bool, view: ViewConfiguration,
    at time: WallClockTime, text: (any TextRenderer)?
  ) -> ComposedScene {
    var stack = LayerStack()
    FallbackDrawing(
      picture: picture(for: state.reason, hasFrame: hasFrame), state: state, lastFrame: .source(source),
      view: view,
      area: LayerArea(frame: Rectangle(all: size), shape: .rectangle, border: nil),
      time: time, text: text
    ).draw(into: &stack)
    return stack.composed(size)
  }
}
