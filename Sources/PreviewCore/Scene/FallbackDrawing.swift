// Draws fallback pictures as layers.

/// A fallback picture and everything that it depends on.
struct FallbackDrawing {
  let picture: Fallback.Picture
  let outage: Outage
  /// The source's last frame, and the view that showed it.
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
      bitmap(outage.words, size: shorterSide / 18), bitmap(since, size: shorterSide / 18),
    ].compactMap { $0 }
    let places = area.frame.column(rows.map(\.size), spacing: spacing)
    guard let first = places.first, let last = places.last else {
      return draw([Fallback.Icon.warning.bitmap(side: max(1, shorterSide / 3))], into: &stack)
    }
    let width = places.reduce(0) { max($0, $1.width) }
    let panel = Size(width: width + 4 * spacing, height: last.y + last.height - first.y + 2 * spacing)
    if panel.width <= area.frame.width, panel.height <= area.frame.height {
      let place = area.frame.column([panel], spacing: 0)[0]
      stack.layers.append(Layer(.color(.black), in: place, shape: .rounded(Double(spacing)), opacity: 0.7))
    }
    for (row, place) in zip(rows, places) { stack.put(row, at: place) }
  }

  /// Stacks the bitmaps vertically around the centre.
  private func draw(_ bitmaps: [Bitmap?], into stack: inout LayerStack) {
    let bitmaps = bitmaps.compactMap { $0 }
    for (bitmap, place) in zip(bitmaps, area.frame.column(bitmaps.map(\.size), spacing: spacing)) {
      stack.put(bitmap, at: place)
    }
  }

  // MARK: text

  /// One line about the outage. Nil for a source that is switched off without a reason.
  private var caption: Bitmap? {
    switch outage.state {
    case .off where outage.reason.isEmpty: nil
    case .off, .idle, .opening: bitmap(outage.words, size: shorterSide / 14)
    case .live, .stalled, .lost: bitmap("\(outage.words), \(since)", size: shorterSide / 14)
    }
  }

  /// The start of the outage, with the date unless it is today.
  private var since: String {
    let moment = time.at(outage.since)
    let isToday = Label.TimeFormat.day.text(of: moment) == Label.TimeFormat.day.text(of: time)
    return "since " + (isToday ? Label.TimeFormat.clock : .standard).text(of: moment)
  }

  /// Returns the text's bitmap; nil if the area is too small for legible text.
  private func bitmap(_ words: String, size: Int, weight: Label.Font.Weight = .regular) -> Bitmap? {
    let room = Size(width: area.frame.width - 4 * spacing, height: area.frame.height - 2 * spacing)
    guard shorterSide >= 48, room.width > 0, room.height > 0 else { return nil }
    let font = Label.Font(size: min(max(size, 9), 64), weight: weight)
    return text?.bitmap(for: StyledText(words, font: font, color: .white, maximumSize: room))
  }
}

extension Outage {
  /// The reason, as text for people.
  fileprivate var words: String {
    guard reason.isEmpty else { return reason }
    return switch state {
    case .off: "Off"
    case .idle, .opening: "Opening"
    case .live, .stalled: "Stalled"
    case .lost: "Lost"
    }
  }
}

extension Fallback {
  /// Returns the fallback picture of a view whose source delivers no frames, at the view's size: its layers,
  /// and the frames that they show. `source` refers to the last frame, if there is one, which was captured at
  /// `captured`. Time labels show that time; if it is nil, they are left out. Without `text`, no text is
  /// drawn.
  package func composed(
    size: Size, outage: Outage, of source: String, hasFrame: Bool, view: ViewConfiguration,
    capturedAt captured: WallClockTime? = nil, at time: WallClockTime, text: (any TextRenderer)?
  ) -> ComposedScene {
    var stack = LayerStack()
    FallbackDrawing(
      picture: picture(for: outage.state, hasFrame: hasFrame), outage: outage, lastFrame: .source(source),
      view: view, area: LayerArea(frame: Rectangle(all: size), shape: .rectangle, border: nil), time: time,
      text: text
    ).draw(into: &stack)
    for label in view.labels where captured != nil || !label.isTime {
      stack.layers += label.layers(in: Rectangle(all: size), at: captured ?? time, by: text)
    }
    return stack.composed(size)
  }
}

/// The pattern behind NO SIGNAL: colour bars, dim enough for text on them. A few pixels, to be scaled to any
/// size with sharp edges.
private enum NoSignalPattern {
  /// The columns' colours, light to dark.
  private static let bars: [RGBColor] = [
    RGBColor(red: 0x70, green: 0x70, blue: 0x70), RGBColor(red: 0x70, green: 0x70, blue: 0x18),
    RGBColor(red: 0x18, green: 0x70, blue: 0x70), RGBColor(red: 0x18, green: 0x70, blue: 0x18),
    RGBColor(red: 0x70, green: 0x18, blue: 0x70), RGBColor(red: 0x70, green: 0x18, blue: 0x18),
    RGBColor(red: 0x18, green: 0x18, blue: 0x70),
  ]

  /// 7 x 6 pixels: four rows of bars, one of them in reverse order, and one of greys.
  static let image: StillImage = {
    let greys = (0..<UInt8(bars.count)).map { RGBColor(red: 16 * $0, green: 16 * $0, blue: 16 * $0) }
    let rows = Array(repeating: bars, count: 4) + [bars.reversed(), greys]
    let format = Frame.Format(.rgb24, Size(width: bars.count, height: rows.count), color: .jfif)
    guard let frame = try? Frame(tight: format, bytes: rows.joined().flatMap { [$0.red, $0.green, $0.blue] })
    else { preconditionFailure("three bytes a pixel are a frame") }
    return StillImage(frame)
  }()
}
