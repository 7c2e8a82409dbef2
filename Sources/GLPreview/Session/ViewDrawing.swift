// Draws one source's pictures for all requests: existing ones are reused, the others are drawn in one pass.

/// Draws the views of one source, or their fallbacks.
struct ViewDrawing: Sendable {
  private let drawing: SessionDrawing
  private let source: SessionSource
  var onEncode: @Sendable (Duration) -> Void { drawing.onEncode }
  let plans: ViewPlans

  init(on drawing: SessionDrawing, of source: SessionSource) {
    self.drawing = drawing
    self.source = source
    plans = ViewPlans(
      of: source.options, hasSizes: source.origin.hasSizes, memory: FramePool(budget: drawing.budget))
  }

  var memory: FramePool { plans.memory }

  /// Has the renderer lend memory to a source that is about to be opened, so that a camera need not begin again at the first drawing.
  func lendMemory() async { await drawing.lendMemory(to: plans) }

  /// The upright size whose pixels crops refer to; nil before it is known.
  var reference: Size? { plans.knownReference }

  typealias Results = [PictureRequest: Result<RenderedPicture?, any Error>]

  /// Returns a picture for each request, of the event's frame or of a fallback.
  func draw(_ requests: [PictureRequest], _ event: FeedEvent) async -> Results {
    var results: Results = [:]
    var missing: [Wanted] = []
    // Readers that need several forms of a picture share it.
    var places: [PictureSubject: Int] = [:]
    for request in requests {
      let (configuration, version, _) = request.preview.current
      let view: ViewConfiguration
      do throws(SessionError) {
        view = try request.preview.view(of: configuration, at: request.preview.time(of: event))
      } catch {
        results[request] = .failure(error)
        continue
      }
      let key = PictureKey(
        sequence: event.key.sequence, version: version, outage: event.key.outage, pose: view.projection?.pose)
      let (format, subject) = (request.form.format, PictureSubject(request))
      if let newest = request.preview.newest(format), newest.key == key, request.form.accepts(newest.picture)
      {
        results[request] = .success(newest)
      } else if let place = places[subject] {
        missing[place].requests.append(request)
      } else {
        places[subject] = missing.count
        let isAgain = request.preview.newest(format)?.key == key
        missing.append(
          Wanted(
            requests: [request], preview: request.preview, format: format,
            view: plans.limited(view, to: configuration.maximumPixels, in: event), key: key,
            isAgain: isAgain))
      }
    }
    if let outage = event.outage {
      for wanted in missing { results.set(await draw(wanted, event.frame, outage), for: wanted.requests) }
    } else if let frame = event.frame {
      for wanted in missing {
        guard let misfit = plans.misfit(wanted.view, frame.format) else { continue }
        results.set(
          await draw(wanted, nil, misfit.outage(since: frame.timestamp)), for: wanted.requests)
      }
      missing.removeAll { $0.requests.contains { results[$0] != nil } }
      if !missing.isEmpty { results.merge(await draw(missing, frame)) { $1 } }
    }
    return results
  }

  private struct Wanted {
    var requests: [PictureRequest]
    let preview: Preview
    let format: Picture.Format
    let view: ViewConfiguration
    let key: PictureKey
    /// Whether it was drawn for readers of other forms before: then also for all that may follow.
    let isAgain: Bool
    var viewRequest: ViewRequest {
      let forms = requests.map(\.form) + (isAgain ? [PictureForm(format)] : [])
      return ViewRequest(view, as: format, coding: forms.sharedCoding)
    }
  }

  private struct PictureSubject: Hashable {
    let preview: Preview
    let format: Picture.Format

    init(_ request: PictureRequest) { (preview, format) = (request.preview, request.form.format) }
  }

  /// Releases the memory of frames that are no longer used.
  func releaseMemory() async { await drawing.release(memory) }

  // MARK: Frames

  private func draw(_ wanted: [Wanted], _ frame: Frame) async -> Results {
    do {
      let pictures = try await drawing.draw(
        frame, wanted.map { ($0.viewRequest, $0.preview.gpuTime) }, plans)
      var results: Results = [:]
      for (wanted, picture) in zip(wanted, pictures) {
        results.set(.success(kept(wanted, picture, frame)), for: wanted.requests)
      }
      return results
    } catch is ParameterError where wanted.count > 1 {
      // A view that can't be drawn does not affect the others.
      var results: Results = [:]
      for one in wanted { results.merge(await draw([one], frame)) { $1 } }
      return results
    } catch {
      var results: Results = [:]
      for wanted in wanted { results.set(.failure(error), for: wanted.requests) }
      return results
    }
  }

  private func kept(_ wanted: Wanted, _ picture: Picture, _ frame: Frame) -> RenderedPicture {
    let rendered = RenderedPicture(
      name: wanted.preview.name, picture: picture, wanted.key, timestamp: frame.timestamp,
      iccProfile: frame.iccProfile, decodedEighths: frame.format.eighths, onEncode: onEncode)
    // Others may want an exact picture of the same frame.
    if frame.format.eighths == 8 { wanted.preview.keep(rendered, as: wanted.format) }
    return rendered
  }

  /// Draws views that belong to no preview, or of a frame that is not the newest, such as a still, and
  /// counts the GPU's time for each.
  func draw(
    _ views: [(ViewConfiguration, GPUTime)], _ frame: Frame, as form: PictureForm
  ) async throws -> [Picture] {
    try await drawing.draw(
      frame, views.map { (ViewRequest($0, as: form.format, coding: form.coding), $1) }, plans)
  }

  // MARK: Fallbacks

  private func draw(_ wanted: Wanted, _ frame: Frame?, _ outage: Outage) async
    -> Result<RenderedPicture?, any Error>
  {
    do {
      let picture = try await draw(
        wanted.view, wanted.format, frame, outage, counting: wanted.preview.gpuTime)
      let rendered = RenderedPicture(
        name: wanted.preview.name, picture: picture, wanted.key, timestamp: CaptureClock.now,
        sourceState: outage.state, onEncode: onEncode)
      wanted.preview.keep(rendered, as: wanted.format)
      return .success(rendered)
    } catch {
      return .failure(error)
    }
  }

  /// Draws the fallback in a view's size. The last frame is left out if the view's crop can't be located in
  /// it, or the view can't be warped.
  func draw(
    _ view: ViewConfiguration, _ format: Picture.Format, _ frame: Frame?, _ outage: Outage,
    counting gpuTime: GPUTime
  ) async throws -> Picture {
    var (view, frame) = (plans.withLens(view), frame)
    if let last = frame {
      do throws(ParameterError) { view = try plans.rescaled(view, for: last.format) } catch { frame = nil }
    }
    let seen = frame?.format.uprightSize ?? reference ?? ViewDrawing.usualSize
    let planner = RenderPlanner(maximumPixels: drawing.maximumPixels)
    // A warp that is not possible in a source of this size, which may be only assumed, counts as none.
    if view.isWarped, (try? planner.size(of: view, in: seen)) == nil { (view, frame) = (view.unwarped, nil) }
    let size = try planner.size(of: view, in: seen)
    let scene = source.fallback.composed(
      size: size, outage: outage, of: source.name, hasFrame: frame != nil, view: view,
      capturedAt: (frame?.timestamp).map { WallClockTime(capturedAt: $0) }, at: .now(), text: drawing.text)
    let frames = scene.inputs.map { reference -> Frame? in
      if case .image(let image) = reference { image.frame } else { frame }
    }
    return try await drawing.draw(
      scene, frames, as: PictureForm(format), named: view.name, counting: gpuTime)
  }

  /// The assumed size of a source that has not given a frame.
  private static let usualSize = Size(width: 640, height: 360)
}

extension ViewDrawing.Results {
  fileprivate mutating func set(_ result: Value, for requests: [PictureRequest]) {
    for request in requests { self[request] = result }
  }
}
