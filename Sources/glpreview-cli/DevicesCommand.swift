// `glpreview devices`: what there is to draw on, and what would be picked.
import ArgumentParser
import GLPreview

struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "List the devices that can draw, and which one would be picked.",
    discussion: "Each is tried: it draws a pixel and reads it back. Exit status 69 where none works.")

  @OptionGroup var deviceOptions: DeviceOptions

  @Flag(help: "One JSON object for all devices.")
  var json = false

  func run() async throws {
    try await ExitStatus.of {
      let devices = await GPUDevice.list()
      let picked: Int
      do throws(DeviceError) {
        picked = try await GPUDevice.choose(deviceOptions.gpu).index
      } catch {
        try show(devices, picked: nil)
        throw error
      }
      try show(devices, picked: picked)
    }
  }

  private func show(_ devices: [GPUDevice], picked: Int?) throws {
    guard json else { return try StandardOutput.print(DeviceTable(devices, picked: picked).description) }
    let report = DevicesReport(
      devices: devices.map { DeviceReport($0, isPicked: $0.index == picked) }, picked: picked)
    try StandardOutput.print(report.jsonLine())
  }
}

private struct DevicesReport: Codable {
  let devices: [DeviceReport]
  /// The number of the device that would be picked.
  let picked: Int?
}

/// One device, as `--json` tells it.
private struct DeviceReport: Codable {
  let index: Int
  let kind: String
  let drmNode: String?
  let software: Bool
  let works: Bool
  let picked: Bool
  let driver: String?
  let vendor: String?
  let renderer: String?
  let glesVersion: String?
  let maximumTextureSize: Int?
  let reason: String?

  init(_ device: GPUDevice, isPicked: Bool) {
    index = device.index
    kind = device.kind.rawValue
    drmNode = device.drmNode
    software = device.isSoftware
    works = device.driver != nil
    picked = isPicked
    driver = device.driver?.name
    vendor = device.driver?.vendor
    renderer = device.driver?.renderer
    glesVersion = device.driver.map { "\($0.version)" }
    maximumTextureSize = device.driver?.maximumTextureSize
    if case .fails(let reason) = device.status { self.reason = reason } else { reason = nil }
  }
}
