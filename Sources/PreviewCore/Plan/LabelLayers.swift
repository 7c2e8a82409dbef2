// The labels of a view as layers over its picture.

/// The inputs of a frame's labels.
package struct LabelLayers: Sendable {
  /// When the frame was captured; nil leaves out labels that show it.
  package let time: WallClockTime?
  /// Draws the text; nil draws none.
  package let text: (any TextRenderer)?

  /// Creates the inputs for labels of frames captured at `time`.
  package init(at time: WallClockTime?, _ text: (any TextRenderer)?) {
    self.time = time
    self.text = text
  }

  /// Returns the layers that draw a view's labels over its picture of frames of `format`.
  ///
  /// - Throws: `ParameterError` for a label that can't be drawn, and the errors of `RenderPlanner.plan`.
  package func layers(
    of view: ViewConfiguration, _ format: Frame.Format, _ planner: RenderPlanner
  ) throws(ParameterError) -> [Layer] {
    guard !view.labels.isEmpty else { return [] }
    let size = try planner.shown(view, for: format).placement.target
    var layers: [Layer] = []
    for label in view.labels where time != nil || !label.isTime {
      try label.check("label")
      layers += label.layers(
        in: Rectangle(all: size), at: time ?? WallClockTime(secondsSince1970: 0), by: text)
    }
    return layers
  }
}
