// Draws a label as layers: its background and its text.

extension Label {
  /// The text at a given time.
  func text(at time: WallClockTime) -> String {
    switch content {
    case .text(let text): text
    case .time(let format): format.text(of: time)
    }
  }

  /// Draws the label over the content of `area`; nothing if there is no room or no text.
  func draw(
    in area: Rectangle, at time: WallClockTime, opacity: Double, with renderer: (any TextRenderer)?,
    into stack: inout LayerStack
  ) {
    let padding = (x: background?.padding ?? 0, y: ((background?.padding ?? 0) + 1) / 2)
    let room = Size(
      width: min(area.width - 2 * (margin + padding.x), maximumWidth ?? .max),
      height: area.height - 2 * (margin + padding.y))
    guard room.width > 0, room.height > 0,
      let bitmap = renderer?.bitmap(
        for: StyledText(text(at: time), font: font, color: color, maximumSize: room))
    else { return }
    let size = Size(width: bitmap.size.width + 2 * padding.x, height: bitmap.size.height + 2 * padding.y)
    let place = position.place(size, in: area, margin: margin)
    if let background {
      stack.layers.append(
        Layer(
          .color(background.color), in: place, shape: .rounded(background.cornerRadius),
          opacity: background.opacity * opacity))
    }
    stack.put(
      bitmap,
      at: Rectangle(
        x: place.x + padding.x, y: place.y + padding.y, width: bitmap.size.width, height: bitmap.size.height),
      opacity: opacity)
  }
}
