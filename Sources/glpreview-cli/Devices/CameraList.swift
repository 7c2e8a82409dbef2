// The camera list as text: the formats of each camera, grouped if their sizes are identical, and the
// controls.
import GLPreview

/// A list of cameras.
struct CameraList: CustomStringConvertible {
  let description: String

  /// If `controls` is true, includes the cameras' controls.
  init(_ cameras: [V4L2Camera], controls: Bool) {
    let blocks = cameras.map { camera in
      ([Self.heading(camera)] + Self.formats(camera) + (controls ? Self.controls(camera) : []))
        .joined(separator: "\n")
    }
    description = blocks.isEmpty ? "no cameras" : blocks.joined(separator: "\n\n")
  }

  private static func heading(_ camera: V4L2Camera) -> String {
    let place = [camera.driver, camera.bus].filter { !$0.isEmpty }.joined(separator: ", ")
    let first = "\(camera.node)  \(camera.name)" + (place.isEmpty ? "" : " (\(place))")
    return [first, camera.stablePath.map { "  \($0)" }, camera.diagnosis.map { "  \($0)" }].compactMap(\.self)
      .joined(separator: "\n")
  }

  private static func formats(_ camera: V4L2Camera) -> [String] {
    var groups: [(names: [String], sizes: [V4L2Camera.FrameSizes])] = []
    for format in camera.formats where format.isReadable {
      let name = format.fourCC + (format.isEmulated ? " (by libv4lconvert)" : "")
      if let index = groups.firstIndex(where: { $0.sizes == format.sizes }) {
        groups[index].names.append(name)
      } else {
        groups.append(([name], format.sizes))
      }
    }
    let lines = groups.flatMap { group in
      ["  " + group.names.joined(separator: " ")]
        + group.sizes.map { sizes in
          let rates = sizes.intervals.reversed().map(\.description).joined(separator: ", ")
          return "    \(sizes)" + (rates.isEmpty ? "" : " at \(rates) fps")
        }
    }
    let others = camera.formats.filter { !$0.isReadable }.map(\.fourCC)
    return lines + (others.isEmpty ? [] : ["  not read: \(others.joined(separator: " "))"])
  }

  private static func controls(_ camera: V4L2Camera) -> [String] {
    let rows = camera.controls.filter { $0.kind != .other }.map { control -> [String] in
      let range =
        switch control.kind {
        case .menu, .integerMenu: control.items.map { "\($0.value) (\($0.name))" }.joined(separator: ", ")
        case .boolean: "false, true"
        case .button: "-"
        default: "\(control.minimum)...\(control.maximum)" + (control.step > 1 ? " by \(control.step)" : "")
        }
      return [
        "  " + control.name, control.kind.rawValue, control.value.map { "\($0)" } ?? "-",
        control.kind == .button ? "-" : "\(control.defaultValue)", range,
        control.flags.joined(separator: ", "),
      ]
    }
    guard !rows.isEmpty else { return [] }
    return [TextTable([["  CONTROL", "KIND", "NOW", "DEFAULT", "FLAGS", "VALUES"]] + rows).description]
  }
}

/// One camera in `--json`.
struct CameraReport: Encodable {
  struct Format: Encodable {
    let format: String
    let description: String
    let readable: Bool
    let emulated: Bool
    let sizes: [Sizes]
  }

  /// A size; with steps, the range from the smallest to the largest.
  struct Sizes: Encodable {
    let minimumWidth: Int
    let minimumHeight: Int
    let maximumWidth: Int
    let maximumHeight: Int
    let stepWidth: Int
    let stepHeight: Int
    let rates: [Rates]
  }

  /// Frames per second: one number, or a range.
  struct Rates: Encodable {
    let minimum: Double
    let maximum: Double
  }

  let node: String
  let stablePath: String?
  let name: String
  let driver: String
  let bus: String
  let reason: String?
  let formats: [Format]
  let controls: [CameraControl]

  init(_ camera: V4L2Camera) {
    node = camera.node
    stablePath = camera.stablePath
    name = camera.name
    driver = camera.driver
    bus = camera.bus
    reason = camera.diagnosis
    formats = camera.formats.map { format in
      Format(
        format: format.fourCC, description: format.description, readable: format.isReadable,
        emulated: format.isEmulated, sizes: format.sizes.map(Sizes.init))
    }
    controls = camera.controls
  }
}

extension CameraReport.Sizes {
  fileprivate init(_ sizes: V4L2Camera.FrameSizes) {
    minimumWidth = sizes.minimum.width
    minimumHeight = sizes.minimum.height
    maximumWidth = sizes.maximum.width
    maximumHeight = sizes.maximum.height
    stepWidth = sizes.step.width
    stepHeight = sizes.step.height
    rates = sizes.intervals.map { intervals in
      CameraReport.Rates(
        minimum: intervals.longest.framesPerSecond, maximum: intervals.shortest.framesPerSecond)
    }
  }
}
