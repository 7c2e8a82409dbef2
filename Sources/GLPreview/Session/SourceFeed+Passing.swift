// The JPEGs of a feed's camera: they are passed on to all that take them before anything is decoded, and decoded, once,
// only if somebody needs samples.
internal import PreviewCore

/// The newest picture of a camera, if that is a JPEG that can be passed on.
struct NewestJPEG: Sendable {
  let jpeg: LiveJPEG
  /// Whether the feed's frame is of it, or it can't be shown.
  var isDecoded = false
  var isCounted = false

  /// The answer to a request that takes the JPEG; nil if it doesn't, or has seen it.
  func answer(to request: FeedRequest, isLast: Bool) -> FeedRequest.Answer? {
    switch request.subject {
    case .picture(let preview, _, after: let last, passes: true):
      // What is decided here and the picture's key are of one version of the view, whatever changes meanwhile.
      let (configuration, version, isRemoved) = preview.current
      guard !isRemoved, configuration.isEnabled, configuration.view?.isWhole == true else { return nil }
      let isNew = last.map { $0.version != version || $0.sequence < jpeg.sequence } ?? true
      return isNew ? .picture(.passed(PassedPicture(jpeg, version: version))) : nil
    case .frame(capturedAt: let time, _, passes: true) where jpeg.timestamp >= time:
      let key = FeedKey(sequence: jpeg.sequence, outage: 0)
      return .event(
        FeedEvent(frame: nil, passed: PassedPicture(jpeg), outage: nil, key: key, isLast: isLast))
    default: return nil
    }
  }
}

extension SourceFeed {
  /// Makes `picture` what the source shows now.
  func adopt(_ picture: LivePicture) {
    switch picture {
    case .frame(let frame): (latest, newestJPEG) = (frame, nil)
    case .jpeg(let jpeg): newestJPEG = NewestJPEG(jpeg: jpeg)
    }
  }

  /// Whether the newest JPEG, passed on or decoded, satisfies a request.
  func isMetByJPEG(_ request: FeedRequest) -> Bool {
    outage == nil && newestJPEG?.answer(to: request, isLast: isEnded) != nil || waitsForDecoding(request)
  }

  /// Whether a request needs the samples of the newest JPEG, which is not decoded yet. An outage is shown over them.
  private func waitsForDecoding(_ request: FeedRequest) -> Bool {
    guard let newest = newestJPEG, !newest.isDecoded else { return false }
    guard outage == nil else { return request.isMet(by: key, timestamp: nil) }
    let key = FeedKey(sequence: newest.jpeg.sequence, outage: 0)
    return request.isMet(by: key, timestamp: newest.jpeg.timestamp)
      && !isSwitching(request, newest.jpeg.jpeg.size)
  }

  /// Answers with a new picture. Readers that take the camera's own JPEGs do not wait for what is drawn for others.
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

  /// Answers all that take the newest JPEG; whether there were any.
  @discardableResult
  func passOn() -> Bool {
    guard outage == nil, let newest = newestJPEG else { return false }
    var isPassed = false
    for (id, request) in requests {
      guard let answer = newest.answer(to: request, isLast: isEnded) else { continue }
      requests[id] = nil
      request.answer.fulfil(.success(answer))
      isPassed = true
    }
    if isPassed, !newest.isCounted {
      counters.count(\.passed)
      newestJPEG?.isCounted = true
    }
    return isPassed
  }

  /// Decodes the newest JPEG if somebody waits for its samples.
  ///
  /// - Throws: `SourceError` if the camera gives only pictures that can't be shown, and is not to be waited for.
  func decodeIfWanted() async throws {
    guard let newest = newestJPEG, !newest.isDecoded else { return }
    if requests.values.contains(where: waitsForDecoding) {
      try await decodeNewest()
    } else if decoding == nil {
      // Nobody is to get an older frame instead.
      latest = nil
    }
  }

  /// Decodes the newest JPEG, once for all that wait. One that can't be shown leaves the last frame as it is.
  func decodeNewest() async throws {
    guard let newest = newestJPEG, !newest.isDecoded else { return }
    let sequence = newest.jpeg.sequence
    let known = decoding?.sequence == sequence ? decoding?.task : nil
    let task = known ?? Task { try await newest.jpeg.frame() }
    decoding = (sequence, task)
    let result = await task.result
    if decoding?.sequence == sequence { decoding = nil }
    // The source is being closed; somebody may want it still.
    if case .failure(let error) = result, error is CancellationError { return }
    if newestJPEG?.jpeg.sequence == sequence { newestJPEG?.isDecoded = true }
    if let frame = try result.get(), !isClosed, sequence > latest?.sequence ?? -1 { latest = frame }
  }
}
