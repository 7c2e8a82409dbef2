// Draws the pictures that requests wait for: from the feed's frame, or from a JPEG that is decoded at a reduced size. A reduced
// JPEG is enough if only tiny views are wanted, such as those of motion.
internal import PreviewCore

extension SourceFeed {
  /// Requests that wait for the same pictures.
  typealias WaitingRequests = [PictureRequest: [FeedRequest]]

  /// Draws the pictures of an event, and answers the requests for them.
  func answer(_ pictures: WaitingRequests, with event: FeedEvent) async {
    // Sorted, so that existing plans are found again.
    let wanted = pictures.keys.sorted { $0.order < $1.order }
    let results = await drawing.draw(wanted, event)
    for (picture, requests) in pictures {
      let result = results[picture] ?? .success(nil)
      let answer = result.map { rendered in rendered.map { FeedRequest.Answer.picture(.drawn($0)) } }
      for request in requests { request.answer.fulfil(answer) }
    }
  }

  /// Decodes a JPEG at a reduced size and answers the waiting requests with it, if that is enough for all of them. Otherwise, and
  /// if the JPEG is damaged, it answers none. The reduced frame is not kept.
  func answerReduced(_ newest: EncodedLivePicture, to waiting: [Int: FeedRequest]) async {
    guard outage == nil, decoding == nil, !waiting.isEmpty else { return }
    var views: [ViewRequest] = []
    for request in waiting.values {
      guard case .picture(let preview, let format, _, _) = request.subject,
        preview.configuration.takesReduced, let view = preview.configuration.view
      else { return }
      views.append(ViewRequest(view, as: format))
    }
    guard let frame = try? await newest.frame(reducedFor: views, source.options, memory: drawing.memory)
    else {
      return
    }
    counters.count(\.decoded)
    var pictures: WaitingRequests = [:]
    for (id, request) in waiting where requests.removeValue(forKey: id) != nil {
      guard case .picture(let preview, let format, _, _) = request.subject else { continue }
      pictures[PictureRequest(preview, format), default: []].append(request)
    }
    await answer(
      pictures,
      with: FeedEvent(
        frame: frame, outage: nil, key: FeedKey(sequence: newest.sequence, outage: 0), isLast: false))
  }
}
