// The way to a GPU by its file, which no other machine of the tests has: vgem's render node, drawn on by Mesa's kms_swrast.
import Conformance
import Foundation
import Testing

@testable import GLPreview

extension CameraMachine {
  @Suite("GBM") struct GBMTests {
    /// The device by its file alone. EGL lists it too, and would be asked first.
    private static let device = DeviceProbe.probe(
      DeviceCandidate(
        index: 0, platform: .gbm(node: renderNode), drmNode: renderNode, isMarkedSoftware: false))

    @Test("a vgem render node opens by GBM with the driver kms_swrast")
    func probe() throws {
      let driver = try #require(Self.device.driver, "\(Self.device)")
      #expect(driver.name == "kms_swrast")
      #expect(Self.device.kind == .gbm)
    }

    @Test("`devices --json` lists the render node once, as working, with the driver kms_swrast")
    func devices() throws {
      struct Report: Decodable {
        struct Device: Decodable {
          let drmNode: String?
          let driver: String?
          let works: Bool
        }
        let devices: [Device]
      }

      let output = try runCommand("devices", "--json")
      let devices = try JSONDecoder().decode(Report.self, from: Data(output.utf8)).devices
      let nodes = devices.filter { $0.drmNode == renderNode }

      #expect(nodes.map(\.driver) == ["kms_swrast"])
      #expect(nodes.map(\.works) == [true])
    }

    @Test("`render` gives the same PNG bytes on the render node as on llvmpipe")
    func sameBytes() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "gbm-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }

      let pictures = try ["llvmpipe", renderNode].enumerated().map { index, device in
        let file = folder.appending(path: "\(index).png")
        try runCommand(
          "render", "--gpu", device, "pattern:smpte,size=320x240", "--size", "100x75", "-o", file.path)
        return try Data(contentsOf: file)
      }

      #expect(pictures[0].count > 100)
      #expect(pictures[0] == pictures[1])
    }

    /// The first case of each: every program takes the emulated machine seconds to compile. `glpreview verify` does all.
    @Test(
      "pictures drawn by GBM match the reference renderer within the conformance bounds",
      arguments: ["exact copies", "format i420", "format nv12", "format yuyv", "orientation"])
    func conformance(group: String) async throws {
      try #require(Self.device.driver != nil, "\(Self.device)")
      let renderer = try await GLRenderer.open(on: Self.device)
      let conformanceCase = try #require(ConformanceSuite.cases.first { $0.group == group })
      let result = try await ConformanceRun(renderer, tuning: renderer.tuning).result(of: conformanceCase)
      #expect(result.isWithinBound, "\(conformanceCase) is off by \(result.difference.worst)")
      await renderer.close()
    }
  }
}
