// A whole service on a port of its own, for tests that ask it over HTTP.
import AsyncHTTPClient
import FoundationEssentials
import GLPreview
import HLS
import Logging
import NIOCore
import NIOHTTP1
import RTSP
import Recordings
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import Cluster
@testable import GLPreviewServer
@testable import MQTT
@testable import Motion
@testable import ServiceFoundation
@testable import WebRTC

extension HTTPClient {
  /// The client of tests. `shared` gives up where nothing is read for 90 s, and on a starved machine that may take longer.
  static let patient = {
    var configuration = HTTPClient.Configuration.singletonConfiguration
    configuration.timeout = .init(connect: .hours(1), read: nil)
    return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }()
}

/// A service that is running.
struct RunningService: Sendable {
  let port: Int
  /// What it is made of.
  let inside: ServiceParts

  var base: String { "http://127.0.0.1:\(port)" }

  /// An answer, whole.
  struct Answer {
    let status: Int
    let headers: HTTPHeaders
    let bytes: [UInt8]

    var text: String { String(decoding: bytes, as: UTF8.self) }

    func json<Value: Decodable>(_ type: Value.Type) throws -> Value {
      try JSONDecoder().decode(type, from: Data(bytes))
    }
  }

  func get(_ path: String, _ headers: [(String, String)] = []) async throws -> Answer {
    try await send("GET", path, headers)
  }

  func send(
    _ method: String, _ path: String, _ headers: [(String, String)] = [], body: String? = nil
  ) async throws -> Answer {
    var request = HTTPClientRequest(url: base + path)
    request.method = .init(rawValue: method)
    for (name, value) in headers { request.headers.add(name: name, value: value) }
    if let body {
      request.body = .bytes(ByteBuffer(string: body))
      if !request.headers.contains(name: "Content-Type") {
        request.headers.add(name: "Content-Type", value: "application/json")
      }
    }
    let response = try await HTTPClient.patient.execute(request, timeout: .hours(1))
    let bytes = try await response.body.collect(upTo: 64 << 20)
    return Answer(
      status: Int(response.status.code), headers: response.headers, bytes: Array(bytes.readableBytesView))
  }

  /// The first `count` parts of a stream.
  func parts(_ path: String, _ count: Int) async throws -> (head: HTTPHeaders, parts: [Part]) {
    let response = try await HTTPClient.patient.execute(
      HTTPClientRequest(url: base + path), timeout: .hours(1))
    guard response.status == .ok else {
      let body = try await response.body.collect(upTo: 1 << 20)
      throw UnexpectedStatus(code: Int(response.status.code), body: String(buffer: body))
    }
    var reader = PartReader()
    var parts: [Part] = []
    for try await chunk in response.body {
      parts += reader.read(Array(chunk.readableBytesView))
      if parts.count >= count { break }
    }
    return (response.headers, parts)
  }

  /// The body of a stream that is left open.
  func openStream(_ path: String) async throws -> HTTPClientResponse.Body {
    try await HTTPClient.patient.execute(HTTPClientRequest(url: base + path), timeout: .hours(1)).body
  }

  struct UnexpectedStatus: Error {
    let code: Int
    let body: String
  }

  struct Part {
    let headers: [String: String]
    let jpeg: [UInt8]
    var size: String {
      guard let image = try? JPEGProbe(jpeg) else { return "no JPEG" }
      return "\(image.width)x\(image.height)"
    }
  }
}

/// Takes parts apart by their lengths.
struct PartReader {
  private var buffer: [UInt8] = []

  mutating func read(_ bytes: [UInt8]) -> [RunningService.Part] {
    buffer += bytes
    var parts: [RunningService.Part] = []
    while let part = next() { parts.append(part) }
    return parts
  }

  private mutating func next() -> RunningService.Part? {
    guard let end = buffer.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let head = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
    var headers: [String: String] = [:]
    for line in head.split(separator: "\r\n") {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = String(line[line.index(colon, offsetBy: 2)...])
    }
    guard let length = headers["content-length"].flatMap(Int.init), buffer.count >= end.upperBound + length
    else {
      return nil
    }
    let jpeg = Array(buffer[end.upperBound..<end.upperBound + length])
    buffer.removeFirst(end.upperBound + length)
    return RunningService.Part(headers: headers, jpeg: jpeg)
  }
}

/// The size that a JPEG's frame header says.
struct JPEGProbe {
  let width: Int
  let height: Int

  struct NoJPEG: Error {}

  init(_ bytes: [UInt8]) throws {
    guard bytes.starts(with: [0xff, 0xd8]), bytes.suffix(2) == [0xff, 0xd9] else { throw NoJPEG() }
    var position = 2
    while position + 9 < bytes.count {
      let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
      if (0xc0...0xc2).contains(bytes[position + 1]) {
        height = Int(bytes[position + 5]) << 8 | Int(bytes[position + 6])
        width = Int(bytes[position + 7]) << 8 | Int(bytes[position + 8])
        return
      }
      position += 2 + length
    }
    throw NoJPEG()
  }
}

extension ServiceParts {
  /// The feature of a type; each is there once.
  func feature<Feature: ServiceFeature>(_: Feature.Type) -> Feature {
    for case let feature as Feature in features { return feature }
    preconditionFailure("the service has no \(Feature.self)")
  }

  var webRTC: WHEPSessions { feature(WebRTCFeature.self).sessions }
  var node: ClusterNode? { feature(ClusterFeature.self).node }
  var broker: ClusterBroker? { feature(ClusterFeature.self).broker }
  var responder: BrokerResponder? { feature(ClusterFeature.self).responder }
  var rtsp: RTSPServer { feature(RTSPServer.self) }
  var hls: HLSFeature { feature(HLSFeature.self) }
  var recorders: Recorders? { feature(RecordingFeature.self).recorders }
  var motion: MotionWatch { feature(MotionFeature.self).motion }
  var mqtt: MQTTPublisher? { feature(MQTTFeature.self).publisher }

  /// Takes another configuration over, as SIGHUP does; the address stays.
  func apply(_ configuration: ServerConfiguration) async throws {
    var configuration = configuration
    configuration.bind = self.configuration.bind
    try await apply(ValidatedConfiguration(configuration))
  }
}

extension ServerConfiguration {
  /// The same at a free port of loopback, on the GPU that is tested, with all the time there is, where a test does not
  /// say otherwise.
  func patient() -> ServerConfiguration {
    var (copy, usual) = (self, ServerConfiguration())
    copy.bind = .host("127.0.0.1", port: 0)
    if gpu == .automatic { copy.gpu = testedGPU(as: GPUDevice.Choice.self) ?? gpu }
    func replace(
      _ path: WritableKeyPath<ServerConfiguration, Duration>, by time: Duration = allTheTimeThereIs
    ) {
      if self[keyPath: path] == usual[keyPath: path] { copy[keyPath: path] = time }
    }
    let limits: [WritableKeyPath<ServerConfiguration, Duration>] = [
      \.limits.stalledClient, \.limits.idleConnection, \.timeouts.opening, \.timeouts.snapshot,
      \.timeouts.firstPicture, \.timeouts.shutdown, \.timeouts.closing, \.timeouts.peerList,
      \.timeouts.peerStream.stallsAfter, \.timeouts.peerStream.reconnectsAfter,
      \.timeouts.peerStream.connectsWithin, \.timeouts.peerStreamLingers, \.timeouts.mqtt.answer,
      \.timeouts.mqtt.silence, \.timeouts.peerConnects, \.timeouts.peerSilence, \.timeouts.peerAnswer,
      \.timeouts.brokerConnects, \.timeouts.brokerSilence, \.timeouts.webRTCConsent,
    ]
    for limit in limits { replace(limit) }
    if self.limits.requestsPerSecond == usual.limits.requestsPerSecond {
      copy.limits.requestsPerSecond = 1_000_000
    }
    replace(\.timeouts.peerPoll, by: .milliseconds(10))
    replace(\.timeouts.lostPeerPoll, by: .milliseconds(20))
    return copy
  }
}

/// Runs `work` beside a service of `configuration`, whose sources are those that `makeSource` makes, and ends that; by force after
/// `limit`, if there is one.
func withService<Result: Sendable>(
  _ configuration: ServerConfiguration, options: PreviewSession.Options = PreviewSession.Options(),
  endsWithin limit: Duration? = .seconds(10),
  makeSource: @escaping CameraRegistry.SourceMaker = SessionSource.init,
  logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
  _ work: @escaping @Sendable (RunningService) async throws -> Result
) async throws -> Result {
  let configuration = configuration.patient()
  let (ports, told) = AsyncStream.makeStream(of: Int.self)
  let validated = try ValidatedConfiguration(configuration)
  let parts = try await ServiceParts(validated, logger: logger, options: options, makeSource: makeSource)
  let server = PreviewServer(validated, logger: logger, onRunning: { port in told.yield(port ?? 0) })
  // It ends in good order, as by SIGTERM. Torn down while a client is just being let in, it would end the process with it: NIO
  // traps where nobody takes a connection that it has accepted.
  var order = ServiceGroupConfiguration(services: [.init(service: Serving(server, parts))], logger: logger)
  order.maximumGracefulShutdownDuration = limit
  let service = ServiceGroup(configuration: order)
  return try await withThrowingTaskGroup(of: Result?.self) { group in
    group.addTask {
      defer { told.finish() }
      try await service.run()
      return nil
    }
    var iterator = ports.makeAsyncIterator()
    guard let port = await iterator.next() else {
      try await group.waitForAll()
      throw CancellationError()
    }
    group.addTask {
      do {
        let result = try await work(RunningService(port: port, inside: parts))
        await service.triggerGracefulShutdown()
        return result
      } catch {
        await service.triggerGracefulShutdown()
        throw error
      }
    }
    var result: Result?
    do {
      while let next = try await group.next() { result = next ?? result }
    } catch {
      // What `work` has given is given, whatever is still being answered when the time to end is over.
      guard result != nil else {
        await service.triggerGracefulShutdown()
        while let rest = await group.nextResult() { _ = rest }
        throw error
      }
    }
    guard let result else { throw CancellationError() }
    return result
  }
}

/// A service of parts that a test knows.
private struct Serving: Service {
  let server: PreviewServer
  let parts: ServiceParts

  init(_ server: PreviewServer, _ parts: ServiceParts) {
    self.server = server
    self.parts = parts
  }

  func run() async throws { try await server.run(parts) }
}
