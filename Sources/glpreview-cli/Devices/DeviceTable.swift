// The device table for people; a `*` marks the default device.
import GLPreview

/// A table of devices.
struct DeviceTable: CustomStringConvertible {
  let description: String

  init(_ devices: [GPUDevice], picked: Int?) {
    let heading = ["", "N", "RENDERER", "DRIVER", "GLES", "SOFTWARE", "NODE", "BY"]
    let rows = devices.map { device -> [String] in
      let mark = device.index == picked ? "*" : ""
      switch device.status {
      case .works(let driver):
        return [
          mark, "\(device.index)", driver.renderer, driver.name, "\(driver.version)",
          device.isSoftware ? "yes" : "no", device.drmNode ?? "-", device.kind.rawValue,
        ]
      case .fails(let reason):
        return [
          mark, "\(device.index)", "(does not work: \(reason))", "-", "-", device.isSoftware ? "yes" : "-",
          device.drmNode ?? "-", device.kind.rawValue,
        ]
      }
    }
    description = TextTable([heading] + rows).description
  }
}

/// A table whose columns are as wide as their longest cell.
struct TextTable: CustomStringConvertible {
  let description: String

  init(_ rows: [[String]]) {
    let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    description = rows.map { row in
      let line = zip(row, widths).map { cell, width in
        cell + String(repeating: " ", count: width - cell.count)
      }.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }
}
