// swift-tools-version: 6.2
import PackageDescription

/// One set of rules for every Swift target of the house.
let house: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Those of targets that only compute. `make` has them optimised where the tests are built too: most of the tests' time was theirs.
let computing =
  house
  + (Context.environment["GLPREVIEW_OPTIMISED"] == nil
    ? [] : [.unsafeFlags(["-O"], .when(configuration: .debug))])

/// Of C targets: what writes beyond a buffer's end ends the process (glibc; it needs optimisation).
let hardened: [CSetting] = [.define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release))]

/// Of vectors: without optimisation they are fifty times as slow, also where the tests are built.
let vectors: [CSetting] =
  Context.environment["GLPREVIEW_OPTIMISED"] == nil
  ? [] : [.unsafeFlags(["-O2"], .when(configuration: .debug))]

/// What speaks HTTP, and its TLS.
let http: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOHTTP1", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
  .product(name: "NIOTLS", package: "swift-nio"),
  .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
  .product(name: "NIOSSL", package: "swift-nio-ssl"),
]

/// What pictures are captured by, for tests of what is internal there.
let captures: [Target.Dependency] = [
  "CaptureCore", .target(name: "CaptureFFmpeg", condition: .when(traits: ["FFmpeg"])), "CaptureHTTP",
  "CaptureV4L2", "Codecs",
]

/// What the service stands on beside the house.
let service: [Target.Dependency] = [
  .product(name: "AsyncHTTPClient", package: "async-http-client"),
  .product(name: "HTTPTypes", package: "swift-http-types"),
  .product(name: "Hummingbird", package: "hummingbird"),
  .product(name: "HummingbirdCore", package: "hummingbird"),
  .product(name: "HummingbirdTLS", package: "hummingbird"),
  .product(name: "Logging", package: "swift-log"),
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOHTTP1", package: "swift-nio"),
  .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
  .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
  .product(name: "NIOPosix", package: "swift-nio"),
  .product(name: "NIOWebSocket", package: "swift-nio"),
  .product(name: "NIOSSL", package: "swift-nio-ssl"),
  .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
  .product(name: "UnixSignals", package: "swift-service-lifecycle"),
]

/// What the service offers beside its core.
let features: [Target.Dependency] = [
  "Cluster", "HLS", "Motion", "MQTT", "Recordings", "RTSP", "Schedules", "WebRTC",
]

/// A target of what captures pictures.
func source(_ name: String, in folder: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/Capture/\(folder)", swiftSettings: house)
}

/// A target of the service, in a folder of that name.
func service(_ name: String, in folder: String? = nil, _ dependencies: [Target.Dependency]) -> Target {
  .target(
    name: name, dependencies: dependencies + service, path: "Sources/GLPreviewServer/\(folder ?? name)",
    swiftSettings: house)
}

let package = Package(
  name: "GLPreview",
  products: [
    .library(name: "GLPreview", targets: ["GLPreview"]),
    .executable(name: "glpreview", targets: ["glpreview-main"]),
  ],
  traits: [
    .default(enabledTraits: ["FFmpeg", "HTTP"]),
    .trait(
      name: "FFmpeg",
      description: "Video files, RTSP and other streams, by FFmpeg's libraries, loaded on first use."),
    .trait(name: "HTTP", description: "Cameras that speak HTTP; brings SwiftNIO."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    // Without its default traits, which link all of Foundation.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // C libraries, each behind a wall of its own.
    .systemLibrary(name: "CEGL", pkgConfig: "egl", providers: [.apt(["libegl-dev"])]),
    .systemLibrary(name: "CGLES", pkgConfig: "glesv2", providers: [.apt(["libgles-dev"])]),
    .systemLibrary(name: "CGBM", pkgConfig: "gbm", providers: [.apt(["libgbm-dev"])]),
    .systemLibrary(name: "CDMABuffer"),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .target(name: "CTurboJPEG", cSettings: hardened, linkerSettings: [.linkedLibrary("jpeg")]),
    .target(name: "CJPEGBaseline", cSettings: hardened, linkerSettings: [.linkedLibrary("jpeg")]),
    .target(name: "CYAML", cSettings: hardened, linkerSettings: [.linkedLibrary("yaml")]),
    .target(name: "CPNG", cSettings: hardened, linkerSettings: [.linkedLibrary("png16")]),
    .target(name: "CV4L2", cSettings: hardened, linkerSettings: [.linkedLibrary("v4l2")]),
    // Needs FFmpeg's headers only with the trait, and its libraries only when a video is opened.
    .target(name: "CAV", cSettings: hardened + [.define("GLP_FFMPEG", .when(traits: ["FFmpeg"]))]),
    // Needs neither headers nor libraries until a text is drawn.
    .target(name: "CPango", cSettings: hardened),
    // Needs neither headers nor libraries until somebody plays WebRTC.
    .target(name: "CWebRTC", cSettings: hardened),
    // Needs neither headers nor libraries until an animation is asked for.
    .target(name: "CWebP", cSettings: hardened),
    // The steps of a drawing in vectors.
    .target(name: "CPixels", cSettings: hardened + vectors),
    .target(name: "CProcess", cSettings: hardened),
    .target(name: "CShaders"),
    .target(name: "CWeb"),
    .target(name: "CMemory"),

    // The house, in the order in which its rooms stand on one another.
    .target(name: "Shaders", dependencies: ["CShaders"], swiftSettings: house),
    .target(name: "PreviewCore", swiftSettings: computing),
    .target(name: "ReferenceRenderer", dependencies: ["PreviewCore"], swiftSettings: computing),
    .target(
      name: "CPURenderer", dependencies: ["Basics", "CPixels", "PreviewCore"], swiftSettings: computing),
    // Time, files, hashes, memory.
    .target(name: "Basics", dependencies: ["CDMABuffer", "PreviewCore"], swiftSettings: house),
    // H.264, MP4 and RTP as bytes: no encoder, no GPU, no I/O.
    .target(name: "VideoFormats", dependencies: ["Basics"], swiftSettings: computing),
    // JPEG, PNG and animated WebP.
    .target(
      name: "Codecs", dependencies: ["Basics", "CPNG", "CTurboJPEG", "CWebP"], swiftSettings: house),
    // Where pictures come from: what all sources share, and a target for each kind that needs more than files and pipes.
    source("CaptureCore", in: "Core", ["CProcess", "Codecs", "VideoFormats"]),
    source("CaptureFFmpeg", in: "FFmpeg", ["CAV", "CaptureCore"]),
    source("CaptureHTTP", in: "HTTP", ["CaptureCore"] + http),
    source("CaptureV4L2", in: "V4L2", ["CV4L2", "CaptureCore"]),
    .target(
      name: "GLPreview",
      dependencies: [
        "Basics", "CEGL", "CGLES", "CGBM", "CPURenderer", "CPango", "CaptureCore", "CaptureV4L2", "Codecs",
        "PreviewCore", "Shaders", "VideoFormats",
        .target(name: "CAV", condition: .when(traits: ["FFmpeg"])),
        .target(name: "CaptureFFmpeg", condition: .when(traits: ["FFmpeg"])),
        .target(name: "CaptureHTTP", condition: .when(traits: ["HTTP"])),
      ],
      swiftSettings: house),
    .target(
      name: "Conformance", dependencies: ["Codecs", "PreviewCore", "ReferenceRenderer"],
      swiftSettings: computing),
    .target(
      name: "Bench", dependencies: ["CJPEGBaseline", "GLPreview", "PreviewCore"], swiftSettings: house),
    // The service: what any part of it stands on, the core, the features, and the list of them.
    service(
      "ServiceFoundation", in: "Foundation",
      ["CMemory", "CWeb", "CYAML", "Cryptography", "GLPreview", "NATS"]),
    service("ServiceCore", in: "Core", ["ServiceFoundation"]),
    service("Cluster", ["Cryptography", "NATS", "ServiceCore"]),
    service("HLS", ["ServiceCore"]),
    service("Motion", ["ServiceCore"]),
    service("MQTT", ["ServiceCore"]),
    service("Recordings", ["Cluster", "ServiceCore"]),
    service("RTSP", ["Cryptography", "ServiceCore"]),
    service("Schedules", ["Cryptography", "MQTT", "ServiceCore"]),
    service("WebRTC", ["CWebRTC", "Cryptography", "ServiceCore"]),
    service("GLPreviewServer", in: "Service", ["ServiceCore"] + features),
    // What needs OpenSSL: hashes that protocols prescribe, HMAC, Ed25519.
    .target(name: "Cryptography", dependencies: ["CCrypto"], swiftSettings: house),
    // A client of NATS, which knows nothing of GLPreview.
    .target(
      name: "NATS",
      dependencies: [
        "Cryptography",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: house),
    .target(
      name: "glpreview-cli",
      dependencies: [
        "Bench", "Conformance", "GLPreview", "GLPreviewServer", "NATS", "PreviewCore", "ReferenceRenderer",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      swiftSettings: house),
    // The program. All else of it is a module that tests and the fuzzer can import.
    .executableTarget(name: "glpreview-main", dependencies: ["glpreview-cli"], swiftSettings: house),

    // Servers, processes and waiting, for the tests of several targets.
    .target(
      name: "TestSupport", dependencies: ["CProcess", "Conformance", "NATS", "PreviewCore"],
      path: "Tests/TestSupport",
      swiftSettings: computing),
    .testTarget(
      name: "PreviewCoreTests", dependencies: ["PreviewCore", "TestSupport"], swiftSettings: computing),
    .testTarget(
      name: "ReferenceRendererTests", dependencies: ["PreviewCore", "ReferenceRenderer", "TestSupport"],
      swiftSettings: computing),
    .testTarget(
      name: "GLPreviewTests",
      dependencies: ["Bench", "GLPreview", "PreviewCore", "Shaders", "TestSupport"] + captures + http,
      exclude: ["Fixtures"],
      swiftSettings: house),
    .testTarget(
      name: "ConformanceTests",
      dependencies: [
        "Conformance", "CPURenderer", "GLPreview", "PreviewCore", "ReferenceRenderer", "TestSupport",
      ],
      exclude: ["Golden"],
      swiftSettings: house),
    .testTarget(
      name: "GLPreviewServerTests",
      dependencies: [
        "GLPreview", "GLPreviewServer", "NATS", "PreviewCore", "TestSupport",
        .product(name: "HummingbirdTesting", package: "hummingbird"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ] + captures + features + service,
      exclude: ["Recorded"],
      swiftSettings: house),
    .testTarget(
      name: "CommandTests", dependencies: ["GLPreview", "NATS", "TestSupport", "glpreview-cli"],
      exclude: ["Recorded", "Support/rtsp_server.py"],
      swiftSettings: house),
    .testTarget(
      name: "CameraTests",
      dependencies: [
        "Basics", "CaptureCore", "Conformance", "GLPreview", "PreviewCore", "ReferenceRenderer",
        "TestSupport", "glpreview-cli",
      ],
      swiftSettings: house),
    .testTarget(
      name: "BrowserTests", dependencies: ["TestSupport", "glpreview-cli"] + service,
      exclude: ["Support/webrtc_client.py"], swiftSettings: house),
    .testTarget(
      name: "NATSTests",
      dependencies: [
        "NATS", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      swiftSettings: house),
    .testTarget(name: "CryptographyTests", dependencies: ["Cryptography"], swiftSettings: house),
    .testTarget(name: "HouseTests", dependencies: ["TestSupport"], swiftSettings: house),
  ],
  cLanguageStandard: .c2x
)

// Programs beside the command are built where they are asked for: each would be linked by every build of the tests.
switch Context.environment["GLPREVIEW_PROGRAMS"] {
case "examples":
  package.targets += ["CallSnapshot", "Clip", "MultiPreview", "Replicator", "Still", "Thumbnails"].map {
    name in
    .executableTarget(
      name: name, dependencies: ["GLPreview"], path: "Examples/\(name)",
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)])
  }
  // HummingbirdApp also has its own Package.swift, which people can copy.
  package.targets.append(
    .executableTarget(
      name: "HummingbirdApp",
      dependencies: [
        "GLPreview", .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      path: "Examples/HummingbirdApp", sources: ["main.swift"],
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]))
case "benchmarks":
  package.targets += [
    .executableTarget(
      name: "snapshot-latency", dependencies: ["GLPreview"], path: "Benchmarks/SnapshotLatency",
      swiftSettings: house),
    .executableTarget(
      name: "cluster-simulation",
      dependencies: [
        "Cluster", "GLPreview", "NATS", .product(name: "Logging", package: "swift-log"),
      ],
      path: "Benchmarks/ClusterSimulation", swiftSettings: house),
  ]
default: break
}

// Tests/FuzzTests has the entry points of the parsers. A test replays inputs through them; `make fuzz` builds them into a
// program with libFuzzer, whose archive GLPREVIEW_FUZZER names.
let parsers: [Target.Dependency] =
  ["GLPreview", "GLPreviewServer", "NATS", "PreviewCore", "glpreview-cli"] + captures + features
  + [.product(name: "HTTPTypes", package: "swift-http-types")]
  + [.product(name: "Hummingbird", package: "hummingbird")]
  + [.product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOEmbedded", package: "swift-nio")]

/// Has the house's own code built with sanitizers.
@MainActor func instrument(swift: String, c: String, link: String) {
  for target in package.targets where target.type == .regular {
    target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags([swift, "-enable-testing"])]
    target.cSettings = (target.cSettings ?? []) + [.unsafeFlags([c, "-fno-sanitize-recover=undefined"])]
    // The system's gold warns of 141 functions of AddressSanitizer that it can't export; the toolchain's lld does not.
    if target.name == "PreviewCore" { target.linkerSettings = [.unsafeFlags([link, "-use-ld=lld"])] }
  }
}

if let fuzzer = Context.environment["GLPREVIEW_FUZZER"] {
  instrument(
    swift: "-sanitize=address,fuzzer", c: "-fsanitize=address,undefined,fuzzer-no-link",
    link: "-sanitize=address")
  package.targets.append(
    .executableTarget(
      name: "glpreview-fuzz", dependencies: parsers, path: "Tests/FuzzTests",
      exclude: ["Regressions", "ReplayTests.swift"], sources: ["Targets", "Fuzz.swift"],
      swiftSettings: house,
      linkerSettings: [.unsafeFlags([fuzzer]), .linkedLibrary("stdc++")]))
} else {
  package.targets.append(
    .testTarget(
      name: "FuzzTests", dependencies: parsers, exclude: ["Fuzz.swift", "Regressions"], swiftSettings: house))
  // `make sanitize`; threads are looked after by SwiftPM's own --sanitize=thread, in all that is linked.
  if Context.environment["GLPREVIEW_SANITIZE"] == "address" {
    instrument(swift: "-sanitize=address", c: "-fsanitize=address,undefined", link: "-sanitize=address")
  }
}
