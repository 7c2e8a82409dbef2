// What a client of `/api/events` hears, for tests.
import AsyncHTTPClient
import NIOCore
import Synchronization
import TestSupport
import Testing

/// The data of all events of a service since a client was connected.
final class HeardEvents: Sendable {
  private let text = Mutex("")

  fileprivate func add(_ part: ByteBuffer) { text.withLock { $0 += String(buffer: part) } }

  /// Whether the service has said where its log is.
  fileprivate var isStarted: Bool { text.withLock { $0.hasPrefix("retry:") && $0.contains("\n\n") } }

  /// One line each.
  var all: [String] {
    text.withLock { text in
      // The last line may not be whole yet.
      text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        .filter { $0.hasPrefix("data: ") }.map { String($0.dropFirst(6)) }
    }
  }

  /// Those of a type, as `camera@node`.
  func told(_ type: String) -> [String] {
    all.filter { $0.contains("\"type\":\"\(type)\"") }.map {
      "\(Self.member("camera", of: $0))@\(Self.member("node", of: $0))"
    }
  }

  private static func member(_ name: String, of data: String) -> Substring {
    guard let start = data.firstRange(of: "\"\(name)\":\"")?.upperBound else { return "" }
    return data[start...].prefix { $0 != "\"" }
  }
}

/// Runs `work` with clients that hear the events of services.
func withEvents(
  of services: [RunningService], _ work: ([HeardEvents]) async throws -> Void
) async throws {
  let ears = services.map { _ in HeardEvents() }
  try await withThrowingTaskGroup(of: Void.self) { group in
    for (service, ear) in zip(services, ears) {
      group.addTask {
        let body = try await service.openStream("/api/events")
        // It breaks where its service ends first.
        do { for try await part in body { ear.add(part) } } catch {}
      }
    }
    for ear in ears { await until { ear.isStarted } }
    try await work(ears)
    group.cancelAll()
  }
}
