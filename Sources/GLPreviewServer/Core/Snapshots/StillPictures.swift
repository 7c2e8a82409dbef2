// Makes pictures of frames that no camera delivers now, such as recorded ones, as URLs request them.
package import HTTPTypes
package import Hummingbird
internal import NIOCore

/// The requested form of a picture: its view, encoding and timeout.
package struct StillQuery: Sendable, Hashable {
  let snapshot: SnapshotQuery

  /// The parameters, besides those that choose the frame.
  package static let query = SnapshotQuery.stillQuery

  /// Parses the parameters that are left after those that choose the frame.
  ///
  /// - Parameters:
  ///   - query: the parameters that are left.
  ///   - served: the view that they change.
  ///   - format: the file format.
  ///   - timeout: the default of `timeout`.
  ///   - known: all parameters of the URL, for errors.
  /// - Throws: `ParameterError`, `Problem`.
  package init(
    _ query: QueryParameters, of served: ServedView, as format: EncodedPicture.Format, timeout: Duration,
    known: [QueryEntry]
  ) throws {
    snapshot = try SnapshotQuery(still: query, of: served, as: format, timeout: timeout, known: known)
  }

  /// The form of a JPEG of several frames, without EXIF.
  package init(jpegOfQuality quality: Int, timeout: Duration) {
    snapshot = SnapshotQuery(jpegOfQuality: quality, timeout: timeout)
  }

  /// The time for the whole answer.
  package var timeout: Duration { snapshot.request.timeout }
}

extension SnapshotQuery {
  /// The form of a JPEG without EXIF.
  fileprivate init(jpegOfQuality quality: Int, timeout: Duration) {
    var served = ServedView()
    served.quality = quality
    self.served = served
    format = .jpeg
    encoding = .binary
    maximumBytes = nil
    hasEXIF = false
    isDownload = false
    request = SnapshotRequest(fallback: .error, timeout: timeout)
  }
}

/// A frame, and what its answers say of it.
package struct Still: Sendable {
  let frame: Frame
  let size: Size
  private let lease: MemoryLease?

  /// Creates a still. Only the upper left part of `size` is shown: coded pictures may have a row and a column
  /// more. `lease` is the memory of the frame, if that is not counted otherwise.
  package init(_ frame: Frame, size: Size, holding lease: MemoryLease? = nil) {
    (self.frame, self.size, self.lease) = (frame, size, lease)
  }
}

/// Draws and encodes stills. Equal requests share a picture, and the newest pictures are kept.
package final class StillPictures: Sendable {
  private let registry: CameraRegistry
  private let snapshots: Snapshots
  private let metrics: ServiceMetrics
  private let pictures: SingleFlightCache<Key, SnapshotAnswer>
  /// Limits the pictures that are being made; others wait.
  private let gate = AdmissionLimit(capacity: 8, subject: "recorded pictures being made")
  private static let queueTimeout = Duration.seconds(60)

  private struct Key: Hashable {
    let identity: String
    let query: SnapshotQuery

    /// Distinguishes processes, whose hashes differ.
    private static let epoch = String(UInt32.random(in: 0...UInt32.max), radix: 36)

    var entityTag: String { "\"\(Self.epoch)-\(String(UInt(bitPattern: hashValue), radix: 36))\"" }
  }

  /// The most bytes of pictures that are kept.
  private static let mostBytes = 16 << 20

  package init(_ registry: CameraRegistry, _ snapshots: Snapshots, counting metrics: ServiceMetrics) {
    (self.registry, self.snapshots, self.metrics) = (registry, snapshots, metrics)
    let bytes = min(Self.mostBytes, registry.budget.capacity / 32)
    pictures = SingleFlightCache(capacity: bytes) { $0.bytes.storageCapacity }
  }

  /// Answers a request for a picture of a frame that was captured at `time`. `identity` identifies the frame, with
  /// all that is hidden in it; `still` makes it, unless its picture is known. `mayBeShown` is asked once more when
  /// the picture is ready, and throws if it may not be shown any more. `name` is its name for a download, without
  /// extension, and `fields` are further header fields.
  ///
  /// - Throws: `Problem`: 504 after the timeout; the errors of `still`, of drawing and of encoding.
  package func response(
    to request: Request, _ query: StillQuery, named name: String, of identity: String, at time: WallTime,
    fields: HTTPFields, _ context: ServiceContext, while mayBeShown: () throws -> Void,
    _ still: @escaping @Sendable () async throws -> Still
  ) async throws -> Response {
    try await composedResponse(
      to: request, query, named: name, of: identity, at: time, fields: fields, context, while: mayBeShown
    ) { [self] in
      try await drawn(query.snapshot, try await still(), at: time)
    }
  }

  /// Answers a request for a picture of several frames as `response` does for one of a single frame. `draw`
  /// draws it, unless it is known. Only the encoding of `query` counts. `identity` identifies all that the
  /// picture shows, with all that is hidden in it, and `time` is when its first frame was captured.
  ///
  /// - Throws: `Problem`: 504 after the timeout; the errors of `draw`, and of encoding.
  package func composedResponse(
    to request: Request, _ query: StillQuery, named name: String, of identity: String, at time: WallTime,
    fields: HTTPFields, _ context: ServiceContext, while mayBeShown: () throws -> Void,
    _ draw: @escaping @Sendable () async throws -> RenderedPicture
  ) async throws -> Response {
    let key = Key(identity: identity, query: query.snapshot)
    var headers = fields
    headers[.cacheControl] = "private, no-cache"
    headers[.eTag] = key.entityTag
    headers[named: "X-Timestamp"] = time.secondsText
    if request.headers.hasCached(key.entityTag) {
      metrics.count(.snapshot(.cached))
      return Response(status: .notModified, headers: headers)
    }
    let start = CaptureClock.now
    let found = try await snapshots.counting {
      try await context.whileClientStays { [self] in
        try await withDeadline(context.rest(of: query.timeout)) { [self] in
          try await pictures.value(key, { nil }) { [self] in
            let permit = try await gate.enter(within: Self.queueTimeout)
            defer { withExtendedLifetime(permit) {} }
            try registry.checkGPU()
            return try await encoded(try await draw(), key.query)
          }
        }
      }
    }
    guard let answer = found else {
      metrics.count(.snapshot(.failed))
      throw Problem(.gatewayTimeout, "the picture was not decoded within its timeout")
    }
    try mayBeShown()
    metrics.measured(.snapshot, CaptureClock.now - start)
    metrics.count(.snapshot(.taken))
    headers[.contentType] = answer.mediaType
    headers[named: "X-View-Size"] = "\(answer.size)"
    if let quality = answer.quality { headers[named: "X-View-Quality"] = "\(quality)" }
    if query.snapshot.isDownload {
      let type = query.snapshot.format == .png ? "png" : "jpg"
      headers[.contentDisposition] = "attachment; filename=\"\(name).\(type)\""
    }
    return Response(
      status: .ok, headers: headers,
      body: ResponseBody(answer.bytes, holding: answer.lease, on: context.channel))
  }

  private func drawn(_ query: SnapshotQuery, _ still: Still, at time: WallTime) async throws
    -> RenderedPicture
  {
    var view = query.served.view
    let part = try view.visiblePart(of: still.size)
    // Corners exclude a crop.
    if view.corners == nil, still.size != still.frame.format.uprightSize { view.crop = part }
    _ = try RenderPlanner(maximumPixels: registry.limits.pixels).size(of: view, in: still.size)
    let drawn = try await registry.session.draw(
      still.frame, [view], as: query.format.pictures, at: CaptureClock.instant(at: time),
      coding: query.coding)
    guard let picture = drawn.first else { throw Problem(.internalServerError, "nothing was drawn") }
    return picture
  }

  private func encoded(_ picture: RenderedPicture, _ query: SnapshotQuery) async throws -> SnapshotAnswer {
    do {
      return try await snapshots.provider.encoded(picture, query)
    } catch let error as PictureEncoder.Failure {
      throw Problem.badParameter(query.maximumBytes == nil ? "view" : "max_bytes", error.description)
    }
  }
}
