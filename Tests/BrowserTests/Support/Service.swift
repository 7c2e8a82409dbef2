// `glpreview serve` as its users start it, on a port of its own.
import Foundation

/// A service of a configuration; ends with `end`.
struct Service: Sendable {
  /// The dashboard's address.
  let address: URL
  private let process: LocalProcess
  private let folder: URL

  /// The built command, which lies beside the tests.
  static func command() throws -> String {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(filePath: tests).deletingLastPathComponent().appending(path: "glpreview").path
  }

  /// Starts one of `configuration`, which is YAML without `bind`, and waits until it listens: at `port`, or at a free one.
  static func start(_ configuration: String, port: Int = 0) async throws -> Service {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "glpreview-serve-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appending(path: "glpreview.yaml")
    try Data("bind: 127.0.0.1:\(port)\n\(configuration)\n".utf8).write(to: file)
    let process = try LocalProcess(try command(), ["serve", "--config", file.path])
    let found = try await process.said(/127\.0\.0\.1:([1-9]\d*)/)
    guard let address = URL(string: "http://127.0.0.1:\(found)/") else {
      throw NotThere("a port, not \(found)")
    }
    return Service(address: address, process: process, folder: folder)
  }

  func end() async {
    await process.end()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Asks it for something, as somebody does who is not the browser.
  @discardableResult
  func ask(
    _ method: String, _ path: String, json: String? = nil, token: String? = nil
  ) async throws -> [String: Any] {
    var headers = ["X-Requested-With": "tests"]
    if let token { headers["Authorization"] = "Bearer \(token)" }
    if json != nil { headers["Content-Type"] = "application/json" }
    let answer = try await HTTP.ask(
      method, address.absoluteString + path, headers, json.map { Data($0.utf8) })
    guard answer.status == 200 else { throw NotThere("\(method) \(path): \(answer.text)") }
    return try JSONSerialization.jsonObject(with: answer.body) as? [String: Any] ?? [:]
  }

  /// What it tells of a view.
  func view(_ view: String, of camera: String) async throws -> [String: Any] {
    let cameras = try await ask("GET", "api/cameras")["cameras"] as? [[String: Any]] ?? []
    let views = cameras.first { $0["name"] as? String == camera }?["views"] as? [[String: Any]] ?? []
    guard let view = views.first(where: { $0["name"] as? String == view }) else {
      throw NotThere("\(camera)/\(view)")
    }
    return view
  }

  /// How many watch a view.
  func watchers(of camera: String, _ name: String = "main") async throws -> Int {
    (try await view(name, of: camera)["clients"] as? NSNumber)?.intValue ?? -1
  }
}
