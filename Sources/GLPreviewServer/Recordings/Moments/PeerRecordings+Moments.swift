// Recorded pictures of other nodes: decides which node answers a request for them.
internal import Cluster
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import NIOHTTP1

/// The node that is asked first for recorded pictures.
enum FirstNode: Sendable {
  case this
  /// The one that serves the camera, and has its newest recordings.
  case owner
}

extension PeerRecordings {
  /// The most bytes of a node's answer that it has no recording.
  private static let largestProblem = 64 << 10

  /// Answers a request for recorded pictures from this node, or from another one. Only requests of clients are
  /// passed to other nodes.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - context: its context.
  ///   - first: the node that is asked first.
  ///   - here: answers from this node's recordings; returns nil if it has none of the requested time.
  /// - Returns: the answer; nil if no node has a recording of the requested time.
  /// - Throws: `Problem`: 502 to 504 if a node that may have one does not answer; the errors of `here`.
  func answer(
    _ request: Request, _ context: ServiceContext, first: FirstNode, here: () async throws -> Response?
  ) async throws -> Response? {
    var passed: (answer: Response?, problem: Problem?) = (nil, nil)
    if first == .owner {
      passed = try await passQuery(request, context)
      if let answer = passed.answer { return answer }
    }
    if let answer = try await here() { return answer }
    if first == .this { passed = try await passQuery(request, context) }
    if let problem = passed.problem { throw problem }
    return passed.answer
  }

  /// Returns the answer of a node that has the pictures that a query names; without an answer, the problem if it
  /// is unknown whether one has them.
  private func passQuery(
    _ request: Request, _ context: ServiceContext
  ) async throws -> (answer: Response?, problem: Problem?) {
    guard areMeant(by: request) else { return (nil, nil) }
    do {
      return (try await pass(request, context, isOfQuery: true), nil)
    } catch let problem as Problem where problem.status == .notFound {
      return (nil, nil)
    } catch let problem as Problem
      where [.badGateway, .serviceUnavailable, .gatewayTimeout].contains(problem.status)
    {
      return (nil, problem)
    }
  }

  private struct Missing: Decodable {
    let nearest: [String]?
  }

  /// Returns the recorded times of other nodes that are nearest to a span of which no node has a recording.
  ///
  /// - Parameters:
  ///   - request: a request for the span.
  ///   - context: its context. Its role decides which times the nodes name.
  ///   - start: the start of the span.
  /// - Returns: the times; none if no other node names any, or if too many requests search now.
  func nearest(_ request: Request, _ context: ServiceContext, next start: WallTime) async -> NearestTimes {
    guard areMeant(by: request), let permit = try? gate.enter() else { return NearestTimes() }
    defer { withExtendedLifetime(permit) {} }
    let target = request.uri.query.map { "\(request.uri.path)?\($0)" } ?? request.uri.path
    return await withTaskGroup(of: NearestTimes.self) { group in
      for peer in catalogue.cluster.counted where peer.state == .up {
        group.addTask {
          let answer = try? await forwarder.answer(
            to: .GET, target, context, of: peer, atMost: Self.largestProblem)
          guard let (status, bytes) = answer, status == .notFound,
            let missing = try? JSONDecoder().decode(Missing.self, from: Data(bytes.readableBytesView))
          else { return NearestTimes() }
          return NearestTimes(missing.nearest ?? [], next: start)
        }
      }
      var nearest = NearestTimes()
      for await times in group { nearest.merge(times) }
      return nearest
    }
  }
}
