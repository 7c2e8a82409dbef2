// The pictures of a feed's camera as they came, JPEGs or H.264: they are passed on to all that take them before anything is
// decoded, and decoded, once, only if somebody needs samples.
internal import PreviewCore

/// The newest picture of a camera, if it can be passed on as it came.
struct NewestEncoded: Sendable {
  let picture: EncodedLivePicture
  /// Whether the feed's frame is of it, or it can't be shown.
  var isDecoded = false
  var isCounted = false
  /// Whether H.264 may be passed on.
  var passesVideo = true

  /// The answer to a request that takes the picture as it came; nil if it doesn't, or has seen it.
  func answer(to request: FeedRequest, isLast: Bool) -> FeedRequest.Answer? {
    switch request.subject {
    case .picture(let preview, let format, after: let last, passes: true):
      // What is decided here and the picture's key are of one version of the view, whatever changes meanwhile.
      let current = preview.current
      guard !current.isRemoved, current.configuration.isEnabled else { return nil }
      let isNew = last.map { $0.version != current.version || $0.sequence < picture.sequence } ?? true
      guard isNew, let passed = passed(to: preview, format, current.configuration, current.version) else {
        return nil
      }
      return .picture(passed)
    case .frame(capturedAt: let time, _, passes: true) where picture.timestamp >= time:
      guard let passed = PassedPicture(picture) else { return nil }
      let key = FeedKey(sequence: picture.sequence, outage: 0)
      return .event(FeedEvent(frame: nil, passed: passed, outage: nil, key: key, isLast: isLast))
    default: return nil
    }
  }

  /// Videos take H.264, all others JPEGs.
  private func passed(
    to preview: Preview, _ format: Picture.Format, _ configuration: PreviewConfiguration, _ version: Int
  ) -> PreviewPicture? {
    switch picture.content {
    case .jpeg where format != .video && configuration.view?.isWhole == true:
      PassedPicture(picture, version: version).map { .passed($0) }
    case .h264(let place) where passesVideo && format == .video && preview.passesVideo(since: place.keyTime):
      .video(
        PassedVideo(
          place: place, sequence: picture.sequence, timestamp: picture.timestamp,
          key: PictureKey(sequence: picture.sequence, version: version)))
    default: nil
    }
  }
}

extension SourceFeed {
  /// Makes `picture` what the source shows now.
  func adopt(_ picture: LivePicture) {
    switch picture {
    case .frame(let frame): (latest, newestEncoded) = (frame, nil)
    case .encoded(let picture):
      newestEncoded = NewestEncoded(picture: picture)
      if case .h264(let place) = picture.content {
        newestEncoded?.passesVideo = place.keyTime >= passesVideoSince
      }
    }
  }

  /// What was captured so far is not passed on as H.264 any more.
  func endVideo() {
    newestEncoded?.passesVideo = false
    passesVideoSince = CaptureClock.now
  }

  /// Whether the newest picture, passed on or decoded, satisfies a request.
  func isMetByEncoded(_ request: FeedRequest) -> Bool {
    outage == nil && newestEncoded?.answer(to: request, isLast: isEnded) != nil || waitsForDecoding(request)
  }

  /// Whether a request needs the samples of the newest picture, which is not decoded yet. An outage is shown over them.
  private func waitsForDecoding(_ request: FeedRequest) -> Bool {
    guard let newest = newestEncoded, !newest.isDecoded else { return false }
    guard outage == nil else { return request.isMet(by: key, timestamp: nil) }
    let key = FeedKey(sequence: newest.picture.sequence, outage: 0)
    return request.isMet(by: key, timestamp: newest.picture.timestamp)
      && !isSwitching(request, newest.picture.size)
  }

  /// Answers with a new picture. Readers that take what the camera sent do not wait for what is drawn for others.
  ///
  /// - Throws: as `takePicture`, for a camera that gives only pictures that can't be shown.
  func answerAll() async throws {
    let isPassed = passOn()
    isServedAgain = true
    let serving =
      serving
      ?? Task {
        while isServedAgain {
          isServedAgain = false
          do { try await decodeIfWanted() } catch { decodingFailure = error }
          await serve()
        }
        self.serving = nil
      }
    self.serving = serving
    if !isPassed { await serving.value }
    guard let failure = decodingFailure else { return }
    decodingFailure = nil
    throw await lost(by: failure)
  }

  /// Answers all that take the newest picture as it came; whether there were any.
  @discardableResult
  func passOn() -> Bool {
    guard outage == nil, let newest = newestEncoded else { return false }
    var isPassed = false
    for (id, request) in requests {
      guard let answer = newest.answer(to: request, isLast: isEnded) else { continue }
      requests[id] = nil
      request.answer.fulfil(.success(answer))
      isPassed = true
    }
    if isPassed, !newest.isCounted, case .jpeg = newest.picture.content {
      counters.count(\.passed)
      newestEncoded?.isCounted = true
    }
    return isPassed
  }

  /// Decodes the newest picture if somebody waits for its samples.
  ///
  /// - Throws: `SourceError` if the camera gives only pictures that can't be shown, and is not to be waited for.
  func decodeIfWanted() async throws {
    guard let newest = newestEncoded, !newest.isDecoded else { return }
    await answerReduced(newest.picture, to: requests.filter { waitsForDecoding($0.value) })
    if requests.values.contains(where: waitsForDecoding) {
      try await decodeNewest()
    } else if decoding == nil {
      // Nobody is to get an older frame instead.
      latest = nil
    }
  }

  /// Decodes the newest picture, once for all that wait. One that can't be shown leaves the last frame as it is.
  func decodeNewest() async throws {
    guard let newest = newestEncoded, !newest.isDecoded else { return }
    let sequence = newest.picture.sequence
    let known = decoding?.sequence == sequence ? decoding?.task : nil
    let task = known ?? Task { try await newest.picture.frame() }
    decoding = (sequence, task)
    let result = await task.result
    if decoding?.sequence == sequence { decoding = nil }
    // The source is being closed; somebody may want it still.
    if case .failure(let error) = result, error is CancellationError { return }
    if newestEncoded?.picture.sequence == sequence { newestEncoded?.isDecoded = true }
    if let frame = try result.get(), !isClosed, sequence > latest?.sequence ?? -1 {
      counters.count(\.decoded)
      latest = frame
    }
  }
}
