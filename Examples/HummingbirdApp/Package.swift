// swift-tools-version: 6.2
// A package to copy: an application that depends on GLPreview and Hummingbird.
import PackageDescription

let package = Package(
  name: "HummingbirdApp",
  dependencies: [
    // In your package: .package(url: "https://github.com/OWNER/GLPreview", from: "0.2.0")
    .package(name: "GLPreview", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .executableTarget(
      name: "HummingbirdApp",
      dependencies: [
        .product(name: "GLPreview", package: "GLPreview"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      path: ".", sources: ["main.swift"],
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)])
  ])
