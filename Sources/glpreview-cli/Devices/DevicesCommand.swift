// `glpreview devices`: lists the rendering devices, the default one, and the cameras.
import ArgumentParser
import GLPreview

struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "List the rendering devices, the one used by default, the cameras and the video encoders.",
    discussion: """
      Each GPU is tested: it draws a pixel and reads it back. Without one, the CPU draws, with the instructions that are \
      named. The exit status is 69 if the device of --gpu does not work.
      Cameras are listed with the formats that glpreview can read, their sizes, and their rates in frames per second.
      Video encoders are those of H.264, in the order in which they are tried. Each is tested by encoding a picture.
      """)

  @OptionGroup var deviceOptions: DeviceOptions

  @Flag(help: "Also list each camera's controls, with their values and ranges.")
  var controls = false

  @Flag(help: "Print one JSON object with all devices, cameras, their controls, and video encoders.")
  var json = false

  func run() async throws {
    try await ExitStatus.of {
      let devices = await GPUDevice.list()
      let cameras = await V4L2Camera.all()
      var encoders: [EncoderReport] = []
      for encoder in VideoConfiguration.Encoder.allCases where encoder != .automatic {
        encoders.append(EncoderReport(encoder, failure: await encoder.failure))
      }
      let picked: GPUDevice
      do throws(DeviceError) {
        picked = try await GPUDevice.choose(deviceOptions.gpu)
      } catch {
        try show(devices, picked: nil, cameras, encoders)
        throw error
      }
      try show(devices, picked: picked, cameras, encoders)
    }
  }

  private func show(
    _ devices: [GPUDevice], picked: GPUDevice?, _ cameras: [V4L2Camera], _ encoders: [EncoderReport]
  ) throws {
    guard json else {
      let table = DeviceTable(devices, picked: picked?.index)
      let passedOver = (picked?.passedOver).map { "\n\nThe CPU draws: \($0)" } ?? ""
      return try StandardOutput.print(
        "\(table)\(passedOver)\n\n\(CameraList(cameras, controls: controls))\n\n\(EncoderReport.table(encoders))"
      )
    }
    let report = DevicesReport(
      devices: devices.map { DeviceReport($0, isPicked: $0.index == picked?.index) },
      picked: picked.flatMap { $0.index < 0 ? nil : $0.index }, passedOver: picked?.passedOver,
      cameras: cameras.map(CameraReport.init), encoders: encoders)
    try StandardOutput.print(report.jsonLine())
  }
}

/// The device table as text. A `*` marks the default device.
private struct DeviceTable: CustomStringConvertible {
  let description: String

  init(_ devices: [GPUDevice], picked: Int?) {
    let heading = ["", "N", "RENDERER", "DRIVER", "GLES", "SOFTWARE", "SHADERS", "JPEG", "NODE", "BY"]
    let rows = devices.map { device -> [String] in
      let mark = device.index == picked ? "*" : ""
      switch device.status {
      case .works(let driver):
        return [
          mark, device.kind == .cpu ? "cpu" : "\(device.index)", driver.renderer, driver.name,
          device.kind == .cpu ? "-" : "\(driver.version)",
          device.isSoftware ? "yes" : "no",
          device.kind == .cpu ? "-" : device.passes?.rawValue ?? "not tried yet",
          device.jpegProcessor?.rawValue ?? "not tried yet", device.drmNode ?? "-",
          device.kind.rawValue,
        ]
      case .fails(let reason):
        return [
          mark, "\(device.index)", "(does not work: \(reason))", "-", "-", device.isSoftware ? "yes" : "-",
          "-", "-",
          device.drmNode ?? "-", device.kind.rawValue,
        ]
      }
    }
    description = TextTable([heading] + rows).description
  }
}

private struct DevicesReport: Encodable {
  let devices: [DeviceReport]
  /// The number of the default device; nil for the CPU.
  let picked: Int?
  /// Why no GPU is the default, although there is a device file of one.
  let passedOver: String?
  let cameras: [CameraReport]
  let encoders: [EncoderReport]
}

/// One video encoder in `--json`.
private struct EncoderReport: Encodable {
  let name: String
  let works: Bool
  let reason: String?

  init(_ encoder: VideoConfiguration.Encoder, failure: VideoError?) {
    (name, works, reason) = (encoder.rawValue, failure == nil, failure?.description)
  }

  /// Returns the table as text. A `*` marks the default encoder.
  static func table(_ encoders: [EncoderReport]) -> TextTable {
    let picked = encoders.first { $0.works }?.name
    return TextTable(
      [["", "ENCODER", ""]]
        + encoders.map { [$0.name == picked ? "*" : "", $0.name, $0.reason.map { "(\($0))" } ?? "works"] })
  }
}

/// One device in `--json`.
private struct DeviceReport: Encodable {
  /// Nil for the CPU.
  let index: Int?
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
  /// Nil for the CPU, and until a renderer has tried both kinds.
  let shaders: String?
  /// The processor that codes JPEGs; nil until a renderer has tried both.
  let jpeg: String?
  let reason: String?

  init(_ device: GPUDevice, isPicked: Bool) {
    index = device.kind == .cpu ? nil : device.index
    kind = device.kind.rawValue
    drmNode = device.drmNode
    software = device.isSoftware
    works = device.driver != nil
    picked = isPicked
    driver = device.driver?.name
    vendor = device.driver?.vendor
    renderer = device.driver?.renderer
    glesVersion = device.kind == .cpu ? nil : device.driver.map { "\($0.version)" }
    maximumTextureSize = device.driver?.maximumTextureSize
    shaders = device.passes?.rawValue
    jpeg = device.jpegProcessor?.rawValue
    if case .fails(let reason) = device.status { self.reason = reason } else { reason = nil }
  }
}
