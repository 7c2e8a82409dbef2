// Draws a moment of a feed for all who wait for pictures of it: of its frame, or of a JPEG that is decoded at a reduced size
// because only tiny views wait, such as those that motion is judged by.
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

  /// Answers those who wait for samples of a JPEG from a reduced decoding, if that will do for all of them. It is not
  /// kept: whoever comes next gets the whole picture. A damaged picture is left to the usual way.
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
