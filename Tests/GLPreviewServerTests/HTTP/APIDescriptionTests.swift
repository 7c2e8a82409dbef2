// docs/openapi.json: it describes each route, and what routes answer is as it says.
import Foundation
import GLPreview
import HTTPTypes
import Hummingbird
import NIOHTTP1
import TestSupport
import Testing

@testable import GLPreviewServer
@testable import ServiceCore
@testable import ServiceFoundation

@Suite(
  "OpenAPI description",
  .enabled(if: hasEncoder && hasWebRTC, "libraries are missing: scripts/setup"), .timeLimit(.minutes(15)))
struct APIDescriptionTests {
  private static let file = URL(filePath: #filePath)
    .appending(path: "../../../../docs/openapi.json").standardizedFileURL

  private static func configuration(_ folder: ConfigurationFolder) throws -> ServerConfiguration {
    try folder.load(
      """
      cameras:
        front:
          source: pattern:counter,size=160x90,fps=20
          views: {main: {}, small: {size: 80x45, crop: 80x45+0+0, label: a, time: on, fps: 5}}
          replay: 10s
          motion: true
          record: {when: trigger}
      scenes: {pair: {tiles: [front]}}
      recordings: {path: \(folder.path)/recordings}
      """
    ).configuration
  }

  @Test("docs/openapi.json equals /api/openapi.json, and responses match its schemas")
  func answers() async throws {
    let folder = try ConfigurationFolder()
    try await withService(Self.configuration(folder)) { service in
      let served = try await service.get("/api/openapi.json")
      let document = try #require(RecordedFace.object(served.bytes))
      if ProcessInfo.processInfo.environment["GLPREVIEW_RECORD_API"] != nil {
        try JSONSerialization.data(
          withJSONObject: document, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        ).write(to: Self.file)
      }
      let recorded = try #require(RecordedFace.object(Array(try Data(contentsOf: Self.file))))
      #expect(NSDictionary(dictionary: recorded).isEqual(to: document), "make api writes it")

      await until { (try? await service.get("/readyz").status) == 200 }
      await until { (try? await service.get("/cameras/front/main.jpg?at=-1s").status) == 200 }
      await until {
        (try? await service.send("POST", "/api/cameras/front/recording", body: "{}").status) == 202
      }
      await until { (try? await service.get("/api/recordings").text.contains(".mp4")) ?? false }
      let stream = try await service.openStream("/cameras/front/small.mjpeg?key=me")
      let schemas = Schemas(document)
      let requests: [(String, String, String?, as: String, status: Int)] = [
        ("GET", "/api/cameras", nil, "/api/cameras", 200),
        ("GET", "/api/cameras/front", nil, "/api/cameras/{camera}", 200),
        ("GET", "/api/cameras/pair", nil, "/api/cameras/{camera}", 200),
        (
          "PATCH", "/api/cameras/front/views/main", #"{"fps": 10}"#, "/api/cameras/{camera}/views/{view}", 200
        ),
        (
          "PATCH", "/api/cameras/front/views/main", #"{"fps": -1}"#, "/api/cameras/{camera}/views/{view}", 400
        ),
        ("POST", "/api/cameras/front/snapshots", nil, "/api/cameras/{camera}/snapshots", 200),
        (
          "POST", "/api/cameras/front/snapshots", #"{"before": "1s"}"#, "/api/cameras/{camera}/snapshots", 200
        ),
        ("POST", "/api/cameras/front/motion", #"{"label": "a"}"#, "/api/cameras/{camera}/motion", 200),
        ("GET", "/api/cameras/front/motion", nil, "/api/cameras/{camera}/motion", 200),
        ("PATCH", "/api/cameras/front/motion", #"{"sensitivity": 60}"#, "/api/cameras/{camera}/motion", 200),
        ("GET", "/api/cameras/front/timeline", nil, "/api/cameras/{camera}/timeline", 200),
        ("DELETE", "/api/cameras/front/motion", nil, "/api/cameras/{camera}/motion", 200),
        ("POST", "/api/cameras/front/recording", "{}", "/api/cameras/{camera}/recording", 202),
        ("GET", "/api/recordings?limit=5", nil, "/api/recordings", 200),
        ("GET", "/cameras/front/main.jpg?at=-1h", nil, "/cameras/{camera}/{view}.jpg", 404),
        ("GET", "/state", nil, "/state", 200),
        ("GET", "/healthz", nil, "/healthz", 200),
        ("GET", "/readyz", nil, "/readyz", 200),
      ]
      for (method, path, body, template, status) in requests {
        let answer = try await service.send(method, path, body: body)
        #expect(answer.status == status, "\(method) \(path) \(body ?? "")")
        #expect(schemas.faults(of: answer, to: method, template) == [], "\(method) \(path) \(body ?? "")")
      }
      withExtendedLifetime(stream) {}
    }
  }

  @Test("responses about another node's cameras match the OpenAPI schemas")
  func nodes() async throws {
    let folder = try ConfigurationFolder()
    try await withOwnerAndEdge(Self.configuration(folder)) { _, edge in
      let document = try #require(RecordedFace.object(try await edge.get("/api/openapi.json").bytes))
      for (path, template) in [
        ("/api/cameras", "/api/cameras"), ("/api/cameras/front", "/api/cameras/{camera}"),
        ("/api/recordings", "/api/recordings"),
      ] {
        let answer = try await edge.get(path)
        #expect(
          answer.status == 200 && Schemas(document).faults(of: answer, to: "GET", template) == [], "\(path)")
      }
    }
  }

  @Test("the OpenAPI document describes each route except the dashboard's files")
  func routes() async throws {
    let folder = try ConfigurationFolder()
    try await withService(Self.configuration(folder)) { service in
      let document = try #require(RecordedFace.object(try await service.get("/api/openapi.json").bytes))
      let paths = try #require(document["paths"] as? [String: [String: Any]])
      var names: [String] = []
      for operation in paths.values.flatMap(\.values) {
        names.append(try #require((operation as? [String: Any])?["operationId"] as? String))
      }
      #expect(Set(names).count == names.count, "operations have names of their own")
      let schemas = Schemas(document)
      for reference in Schemas.references(in: document) {
        #expect(schemas.target(of: reference) != nil, "\(reference)")
      }
      let described = Set(
        paths.flatMap { path, methods in methods.keys.map { "\($0.uppercased()) \(shape(path))" } })
      let routes = service.inside.router().routes.filter { $0.method != .head }.map {
        "\($0.method.rawValue) \(shape("/" + $0.path.description.drop { $0 == "/" }))"
      }
      let files = Set(WebFile.all.map { "GET \($0.path)" } + ["GET /favicon.ico"])
      #expect(Set(routes).subtracting(files).subtracting(described).sorted() == [])
    }
  }

  /// A path without the names of its parameters, nor what follows them.
  private func shape(_ path: String) -> String {
    "/"
      + path.split(separator: "/").map { part in
        part.first == ":" || part.first == "{" && !part.hasSuffix("m3u8") ? "*" : String(part)
      }.joined(separator: "/")
  }

  @Test("OpenAPI view parameters, enums and number ranges match what ViewConfiguration accepts")
  func view() throws {
    #expect(QueryEntry.view.names == ViewConfiguration.keys)
    for entry in QueryEntry.view {
      guard case .keywords(let keywords) = entry.schema else { continue }
      var view = ViewConfiguration(name: "main")
      if case .array(let words)? = keywords["enum"] {
        for word in words {
          switch word {
          case .string(let text): try view.set(entry.name, to: text)
          case .integer(let number): try view.set(entry.name, to: "\(number)")
          default: Issue.record("\(entry.name): \(word)")
          }
        }
        #expect(throws: ParameterError.self) { try view.set(entry.name, to: "none-of-them") }
      }
      if case .integer(let least)? = keywords["minimum"], case .integer(let most)? = keywords["maximum"] {
        for number in [least, most] { try view.set(entry.name, to: "\(number)") }
        for number in [least - 1, most + 1] {
          #expect(throws: ParameterError.self) { try view.set(entry.name, to: "\(number)") }
        }
      }
    }
  }

  @Test(
    "a view accepts exactly the parameter values that match the OpenAPI pattern",
    arguments: [
      ("crop", "80x45+0+0", true), ("crop", "0,0,80,45", true), ("crop", "80x45", false),
      ("crop", "1,2,3", false),
      ("size", "80x", true), ("size", "x45", true), ("size", "80x45", true), ("size", "x", false),
      ("size", "80", false),
      ("corners", "0,0 9,0 9,9 -1,9", true), ("corners", "1,2 3,4", false),
      ("background", "#00FFaa", true), ("background", "blur", true), ("background", "red", false),
    ])
  func patterns(_ name: String, _ text: String, isTaken: Bool) throws {
    let entry = try #require(QueryEntry.view.first { $0.name == name })
    guard case .keywords(let keywords) = entry.schema, case .string(let pattern)? = keywords["pattern"] else {
      Issue.record("\(name) has no pattern")
      return
    }
    #expect(try (Regex(pattern).wholeMatch(in: text) != nil) == isTaken)
    var view = ViewConfiguration(name: "main")
    #expect(((try? view.set(name, to: text)) != nil) == isTaken)
  }
}

/// What a document says of answers, as far as it uses JSON Schema.
private struct Schemas {
  let document: [String: Any]

  init(_ document: [String: Any]) { self.document = document }

  /// Why an answer is not as it is described; members that are not described are faults too.
  func faults(of answer: RunningService.Answer, to method: String, _ template: String) -> [String] {
    let operation = (document["paths"] as? [String: [String: Any]])?[template]?[method.lowercased()]
    let responses = (operation as? [String: Any])?["responses"] as? [String: Any]
    guard let response = (responses?["\(answer.status)"] as? [String: Any]).map(resolved) else {
      return ["status \(answer.status) is not described"]
    }
    let type = (answer.headers.first(name: "content-type") ?? "").prefix { $0 != ";" }
    let contents = response["content"] as? [String: [String: Any]]
    guard let content = contents?[String(type)] else { return ["type \(type) is not described"] }
    guard let value = try? JSONSerialization.jsonObject(with: Data(answer.bytes)) else { return ["no JSON"] }
    return faults(value, content["schema"] as? [String: Any] ?? [:], "")
  }

  static func references(in value: Any) -> Set<String> {
    switch value {
    case let object as [String: Any]:
      Set([object["$ref"] as? String].compactMap(\.self)).union(object.values.flatMap { references(in: $0) })
    case let array as [Any]: Set(array.flatMap { references(in: $0) })
    default: []
    }
  }

  func target(of reference: String) -> [String: Any]? {
    reference.split(separator: "/").dropFirst().reduce(document as Any?) {
      ($0 as? [String: Any])?[String($1)]
    } as? [String: Any]
  }

  private func resolved(_ schema: [String: Any]) -> [String: Any] {
    guard let reference = schema["$ref"] as? String else { return schema }
    return target(of: reference) ?? ["type": "nothing is at \(reference)"]
  }

  private func faults(_ value: Any, _ schema: [String: Any], _ path: String) -> [String] {
    let schema = resolved(schema)
    if let choices = schema["anyOf"] as? [[String: Any]] {
      let all = choices.map { choice in faults(value, choice, path) }
      return all.contains([]) ? [] : all.flatMap { $0 }
    }
    let types = (schema["type"] as? String).map { [$0] } ?? schema["type"] as? [String] ?? []
    guard types.isEmpty || types.contains(where: { isOne(value, $0) }) else {
      return ["\(path): \(value) is no \(types.joined(separator: " or "))"]
    }
    var found: [String] = []
    if let words = schema["enum"] as? [String], let word = value as? String, !words.contains(word) {
      found.append("\(path): '\(word)' is none of \(words)")
    }
    if let array = value as? [Any], let item = schema["items"] as? [String: Any] {
      found += array.flatMap { faults($0, item, path + "[]") }
    }
    guard let object = value as? [String: Any],
      let properties = schema["properties"] as? [String: [String: Any]]
    else { return found }
    found += (schema["required"] as? [String] ?? []).filter { object[$0] == nil }.map {
      "\(path).\($0) is missing"
    }
    for (name, member) in object {
      guard let property = properties[name] else {
        if !properties.isEmpty { found.append("\(path).\(name) is not described") }
        continue
      }
      found += faults(member, property, "\(path).\(name)")
    }
    return found
  }

  private func isOne(_ value: Any, _ type: String) -> Bool {
    switch type {
    case "object": value is [String: Any]
    case "array": value is [Any]
    case "string": value is String
    case "null": value is NSNull
    case "boolean":
      (value as? NSNumber).map { "\($0)" == "true" || "\($0)" == "false" || $0 is Bool } ?? false
    case "integer": (value as? Double).map { $0.rounded() == $0 } ?? false
    case "number": value is Double || value is Int
    default: false
    }
  }
}
