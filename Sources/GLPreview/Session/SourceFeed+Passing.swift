// The JPEGs of a feed's camera: they are passed on to all that take them before anything is decoded, and decoded, once,
// only if somebody needs samples.
internal import PreviewCore

/// The newest picture of a camera, if that is a JPEG that can be passed on.
struct NewestJPEG: Sendable {
  let jpeg: LiveJPEG
  var isCounted = false
  var decoding = Decoding.none

  enum Decoding: Sendable {
    case none
    case underWay(Task<Frame?, any Error>)
    /// The feed's frame is of it, or it can't be shown.
    case done
  }

  var isDecoded: Bool { if case .done = decoding { true } else { false } }

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

  /// Answers all that take the newest JPEG, then decodes it if others wait for its samples.
  ///
  /// - Throws: `SourceError` if the source gives only pictures that can't be shown, and is not to be waited for.
  func passOnOrDecode() async throws {
    passOn()
    guard let newest = newestJPEG, !newest.isDecoded else { return }
    if requests.values.contains(where: waitsForDecoding) {
      try await decodeNewest()
    } else if case .none = newest.decoding {
      // Nobody is to get an older frame instead.
      latest = nil
    }
  }

  private func passOn() {
    guard outage == nil, let newest = newestJPEG else { return }
    for (id, request) in requests {
      guard let answer = newest.answer(to: request, isLast: isEnded) else { continue }
      requests[id] = nil
      request.answer.fulfil(.success(answer))
      guard newestJPEG?.isCounted == false else { continue }
      counters.count(\.passed)
      newestJPEG?.isCounted = true
    }
  }

  /// Decodes the newest JPEG, once for all that wait. One that can't be shown leaves the last frame as it is.
  func decodeNewest() async throws {
    guard let newest = newestJPEG, !newest.isDecoded else { return }
    let decoding: Task<Frame?, any Error>
    if case .underWay(let task) = newest.decoding {
      decoding = task
    } else {
      decoding = Task { try await newest.jpeg.frame() }
      newestJPEG?.decoding = .underWay(decoding)
    }
    let result = await decoding.result
    guard newestJPEG?.jpeg.sequence == newest.jpeg.sequence, case .underWay = newestJPEG?.decoding else {
      return
    }
    newestJPEG?.decoding = .done
    do {
      if let frame = try result.get() { latest = frame }
    } catch is CancellationError {
      newestJPEG?.decoding = .none
    }
  }

  /// Stops decoding for a source that is being closed.
  func stopDecoding() { if case .underWay(let task) = newestJPEG?.decoding { task.cancel() } }
}
