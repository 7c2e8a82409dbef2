// Answers requests: with a camera's own JPEG or H.264, before anything is decoded; or with pictures that are
// drawn from the feed's frame, which is decoded once, and only if a reader needs samples. A JPEG decoded at a
// reduced size is enough if all wanted views allow that, such as those of motion detection.

extension SourceFeed {
  /// Answers requests with a new picture. Readers that accept the camera's own picture do not wait for what
  /// is drawn for other readers.
  ///
  /// - Throws: as `takePicture`, for a camera that delivers only pictures that can't be shown.
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

  /// Answers all requests that accept the newest picture passed through. Returns whether there were any.
  @discardableResult
  func passOn() -> Bool {
    let taken = board.takeOriginals()
    for (request, answer) in taken { request.answer.fulfil(.success(answer)) }
    if !taken.isEmpty, board.countsOriginal() { counters.count(\.passed) }
    return !taken.isEmpty
  }

  // MARK: Decoding

  /// Decodes the newest picture if a request waits for its samples.
  ///
  /// - Throws: `SourceError` if the camera delivers only pictures that can't be shown, and is not to be
  ///   waited for.
  func decodeIfWanted() async throws {
    guard let newest = board.undecoded else { return }
    await answerReduced(newest)
    if board.requests.values.contains(where: board.waitsForDecoding) {
      try await decodeNewest()
    } else if decoding == nil {
      board.forgetOlder()
    }
  }

  /// Decodes the newest picture, once for all requests that wait for it. If it can't be shown, the last frame
  /// stays.
  func decodeNewest() async throws {
    guard let newest = board.undecoded else { return }
    let sequence = newest.sequence
    let known = decoding?.sequence == sequence ? decoding?.task : nil
    let task = known ?? Task { try await newest.frame() }
    decoding = (sequence, task)
    let result = await task.result
    if decoding?.sequence == sequence { decoding = nil }
    // The source is being closed; a request may still want the picture.
    if case .failure(let error) = result, error is CancellationError { return }
    let frame = isClosed ? nil : try? result.get()
    if board.decoded(sequence, to: frame) { counters.count(\.decoded) }
    _ = try result.get()
  }

  /// Decodes a JPEG at a reduced size and answers the waiting requests with it, if that is enough for all of
  /// them. Otherwise, and if the JPEG is damaged, it answers none. The reduced frame is not stored.
  private func answerReduced(_ newest: CameraPicture) async {
    guard board.outage == nil, decoding == nil else { return }
    let waiting = board.requests.filter { board.waitsForDecoding($0.value) }
    var views: [ViewRequest] = []
    for request in waiting.values {
      guard let picture = request.picture, picture.preview.takesReduced,
        let view = picture.preview.configuration.view(
          at: picture.preview.time(ofFrame: board.isEnded ? nil : newest.timestamp))
      else { return }
      views.append(ViewRequest(view, as: picture.form.format))
    }
    guard !views.isEmpty,
      let frame = try? await newest.frame(reducedFor: views, source.options, memory: drawing.memory)
    else { return }
    counters.count(\.decoded)
    let event = FeedEvent(
      frame: frame, outage: nil, key: FeedKey(sequence: frame.sequence, outage: 0), isLast: board.isEnded)
    await answer(waiting.filter { board.remove($0.key) }.map(\.value), with: event)
  }

  // MARK: Drawing

  /// Draws the pictures of an event, each once, and answers requests with them, or with the event.
  func answer(_ requests: [FeedRequest], with event: FeedEvent) async {
    var wanted: [PictureRequest: [FeedRequest]] = [:]
    for request in requests {
      if let picture = request.picture {
        wanted[picture, default: []].append(request)
      } else {
        request.answer.fulfil(.success(.event(event)))
      }
    }
    guard !wanted.isEmpty else { return }
    // Sorted, so that existing plans are found again.
    let results = await drawing.draw(wanted.keys.sorted { $0.order < $1.order }, event)
    for (picture, requests) in wanted {
      let answer = (results[picture] ?? .success(nil)).map {
        $0.map { FeedRequest.Answer.picture(.drawn($0)) }
      }
      for request in requests { request.answer.fulfil(answer) }
    }
  }
}
