// swift-tools-version: 6.2
// Programs that a reader can copy from. This is a package of its own, so that they see of the library what a user sees.
import PackageDescription

let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

let package = Package(
  name: "Examples",
  // Without the trait HTTP there is no SwiftNIO to build. With `http://` cameras, leave `traits:` out.
  dependencies: [.package(name: "GLPreview", path: "..", traits: ["FFmpeg"])],
  targets: ["CallSnapshot", "Clip", "MultiPreview", "Replicator", "Still", "Thumbnails"].map { name in
    .executableTarget(
      name: name, dependencies: [.product(name: "GLPreview", package: "GLPreview")], path: name,
      swiftSettings: settings)
  })
