// What other programs meet of the service, in Recorded/face.txt: each address and whom it answers how, the members of its JSON, its
// metrics. A change of what they rely on shows in review. It is that of a machine without a GPU: one has more of its own.
import AsyncHTTPClient
import Foundation
import GLPreview
import Hummingbird
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceFoundation

@Suite(
  "Public interface of the service",
  .enabled(if: hasEncoder && hasWebRTC, "libraries are missing: scripts/setup"), .timeLimit(.minutes(15)))
struct ServiceFaceTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "Recorded/face.txt")

  private static func configuration(_ folder: ConfigurationFolder) throws -> ServerConfiguration {
    try folder.load(
      """
      cameras:
        front:
          source: pattern:counter,size=160x90,fps=20
          views: {main: {}, small: {size: 80x45, locked: true}, hidden: {enabled: false}}
          replay: 10s
          stalls-after: 1h
          motion: true
          record: {when: trigger, after: 1s}
      scenes: {pair: {tiles: [front]}}
      recordings: {path: \(folder.path)/recordings}
      snapshots: {folder: {path: \(folder.path)/snapshots}}
      access: {tokens: [{token: reading, role: read}, {token: controlling, role: control}]}
      """
    ).configuration
  }

  @Test("face.txt records the routes, their responses by role, the JSON members and the metrics")
  func face() async throws {
    let folder = try ConfigurationFolder()
    let lines = try await withService(Self.configuration(folder)) { service in
      // There is a past, whenever it is asked for.
      let control = Credential.control.fields
      await until { (try? await service.get("/readyz").status) == 200 }
      await until { (try? await service.get("/cameras/front/main.jpg?at=-1s", control).status) == 200 }
      var heads: [String] = []
      var lines = [
        "# Addresses: who gets which status, type and problem; whoever may do most gets these headers", "",
      ]
      for request in Self.requests(service.inside.router().routes) {
        lines.append(try await service.line(of: request, &heads))
      }
      lines += ["", "# Headers", ""] + heads.enumerated().map { "\($0): \($1)" }
      // Members and metrics are those of a service whose video is watched.
      let video = try await service.watch()
      lines += ["", "# Members", ""] + (try await service.members())
      lines += ["", "# Metrics", ""]
      var metrics: [Substring] = []
      // Files count once they are written, recordings once they have ended, and videos while they are encoded.
      let written = [
        "glpreview_recorded_bytes_total ", "glpreview_recordings_total{", "glpreview_folder_files_total{",
        "glpreview_video_bitrate{",
      ]
      await until {
        metrics = (try? await service.get("/metrics", control).text.split(separator: "\n")) ?? []
        return written.allSatisfy { name in metrics.contains { $0.hasPrefix(name) } }
      }
      _ = video.body
      return lines + Self.metrics(metrics)
    }
    try RecordedFace.compare(lines, with: Self.file)
  }

  // MARK: Addresses

  fileprivate struct Request {
    let method: String
    let path: String
    var body: String?
  }

  /// The files of a view that there are, and one that there is not.
  private static let files = ["jpg", "png", "webp", "mjpeg", "mp4", "gif"].map { "main.\($0)" }

  /// Requests to all routes, those that change something last.
  private static func requests(_ routes: [Router<ServiceContext>.RouteDescription]) -> [Request] {
    var methods: [String: Set<String>] = [:]
    for route in routes {
      methods["/" + route.path.description.drop { $0 == "/" }, default: []].insert(route.method.rawValue)
    }
    let requests = methods.sorted { $0.key < $1.key }.flatMap { path, methods in
      concrete(path).flatMap { path in
        methods.subtracting(["HEAD"]).sorted().map { method in
          Request(method: method, path: path, body: ["POST", "PATCH", "PUT"].contains(method) ? "{}" : nil)
        }
      }
    }
    let snapshots = [
      "hidden.jpg", "main.jpg?width=80", "main.jpg?width=0", "small.jpg?width=40", "main.jpg?at=-1h",
      "main.jpg?max_age=0", "main.mjpeg?fps=5", "main.mp4?before=1s&after=0s", "none.jpg",
    ].map { "/cameras/front/\($0)" }
    let others = ["/", "/?action=snapshot", "/cameras/none/main.jpg", "/cameras/pair/main.jpg", "/none"]
    let (looking, changing) = (requests.filter { $0.method == "GET" }, requests.filter { $0.method != "GET" })
    return looking + (snapshots + others).map { Request(method: "GET", path: $0) }
      + [Request(method: "TRACE", path: "/api/cameras")] + changing
  }

  /// A path with names in the places of its parameters.
  private static func concrete(_ path: String) -> [String] {
    let names = ["camera": "front", "view": "main", "folder": "front", "name": "none.mp4", "session": "none"]
    var path = path
    for (parameter, name) in names {
      path = path.replacing("{\(parameter)}", with: name).replacing(":\(parameter)", with: name)
    }
    let isOfView = path.hasPrefix("/cameras/front/")
    return (isOfView && !path.contains("whep") ? files : [isOfView ? "main" : "none.jpg"]).map {
      path.replacing("{file}", with: $0).replacing(":file", with: $0)
    }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  fileprivate enum Credential: String, CaseIterable {
    case none, read, control

    var fields: [(String, String)] {
      switch self {
      case .none: []
      case .read: [("Authorization", "Bearer reading")]
      case .control: [("Authorization", "Bearer controlling")]
      }
    }
  }

  // MARK: Names

  /// Name, kind and labels of each.
  private static func metrics(_ lines: [Substring]) -> [String] {
    let kinds = lines.filter { $0.hasPrefix("# TYPE ") }.map { String($0.dropFirst(7)) }
    let labels = lines.filter { !$0.hasPrefix("#") }.map { line in
      let name = line.prefix { $0 != "{" && $0 != " " }
      let labels = line.matches(of: /([a-z_]+)="/).map(\.1).joined(separator: ",")
      return "\(name) {\(labels)}"
    }
    return kinds.sorted() + Set(labels).sorted()
  }
}

extension RunningService {
  /// What a request gets, for all credentials, and the number of its headers in `heads`.
  fileprivate func line(of request: ServiceFaceTests.Request, _ heads: inout [String]) async throws -> String
  {
    var answers: [String] = []
    var headers = ""
    for credential in ServiceFaceTests.Credential.allCases {
      var (head, problem) = try await head(of: request, credential.fields)
      // An encoder may be too late on a busy machine; no answer here is a 503 otherwise.
      while head.status == .serviceUnavailable {
        (head, problem) = try await self.head(of: request, credential.fields)
      }
      let type = head.headers["Content-Type"].first.map { " \($0)" } ?? ""
      let answer = "\(head.status.code)\(problem ?? type)"
      answers.append("\(credential.rawValue) \(answer)")
      let values = ["Allow", "Cache-Control", "Vary"].flatMap { name in
        head.headers[name].map { "\(name): \($0)" }
      }
      headers = (Set(head.headers.map { $0.name.lowercased() }).sorted() + values).joined(separator: ", ")
    }
    if !heads.contains(headers) { heads.append(headers) }
    let number = heads.firstIndex(of: headers).map { "\($0)" } ?? ""
    return "\(request.method) \(request.path) | \(answers.joined(separator: " | ")) | headers \(number)"
  }

  /// Watches a video until the answer is let go.
  fileprivate func watch() async throws -> HTTPClientResponse {
    var request = HTTPClientRequest(url: "\(base)/cameras/front/main.mp4")
    for (name, value) in ServiceFaceTests.Credential.control.fields {
      request.headers.add(name: name, value: value)
    }
    return try await HTTPClient.patient.execute(request, timeout: .hours(1))
  }

  /// The members of JSON, while a video is watched and motion and a recording have been.
  fileprivate func members() async throws -> [String] {
    let control = ServiceFaceTests.Credential.control.fields
    var found: [String] = []
    for path in ["/api/cameras", "/api/cameras/front/motion", "/api/recordings"] {
      let transient =
        [
          "/api/cameras": [
            ".running: ", ".format.format: ", ".motion.best: ", ".motion.box[]: ", ".motion.picture: ",
          ], "/api/cameras/front/motion": [".best: ", ".box[]: ", ".cells[]: ", ".picture: "],
          "/api/recordings": [".url: ", ".duration: "],
        ][path] ?? []
      await until {
        guard let answer = try? await get(path, control) else { return false }
        let members = Set(RecordedFace.members(of: answer.bytes)).sorted()
        // On a starved machine it may be stalled for a moment.
        guard !members.contains(where: { $0.contains(".reason: ") }) else { return false }
        // And the streams of before may not have ended yet.
        guard !members.contains(where: { $0.contains(".watchers[].") }) else { return false }
        guard transient.allSatisfy({ name in members.contains { $0.contains(name) } }) else { return false }
        found += members.map { "\(path) \($0)" }
        return true
      }
    }
    return found
  }

  /// The head of an answer, and a problem's code. The body is left, and may have no end.
  private func head(of request: ServiceFaceTests.Request, _ fields: [(String, String)]) async throws
    -> (HTTPClientResponse, problem: String?)
  {
    var sent = HTTPClientRequest(url: base + request.path)
    sent.method = .init(rawValue: request.method)
    for (name, value) in fields { sent.headers.add(name: name, value: value) }
    if let body = request.body {
      sent.headers.add(name: "Content-Type", value: "application/json")
      sent.body = .bytes(ByteBuffer(string: body))
    }
    let answer = try await HTTPClient.patient.execute(sent, timeout: .hours(1))
    guard answer.headers["Content-Type"].first == "application/problem+json" else { return (answer, nil) }
    let body = try await answer.body.collect(upTo: 1 << 20)
    let problem = try JSONSerialization.jsonObject(with: Data(body.readableBytesView)) as? [String: Any]
    return (answer, " problem" + ((problem?["code"] as? String).map { " \($0)" } ?? ""))
  }
}
