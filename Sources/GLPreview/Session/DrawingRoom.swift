// The memory that drawing takes: frames on their way to the GPU, which draws in the process's own memory where it is
// software, and pictures for as long as somebody has them.
internal import PreviewCore

/// Memory for pictures that are about to be drawn.
struct DrawingRoom {
  /// What there is only while it is drawn: textures, and of each picture a target and the buffer in which it is read back.
  private let drawing: MemoryLease?
  private let pictures: [MemoryLease]

  /// - Throws: `MemoryBudgetExceeded` where `budget` has no room for `views` of `frames`.
  init(for views: [PlannedView], of frames: [Frame?], in budget: MemoryBudget?) throws(MemoryBudgetExceeded) {
    var pictures: [MemoryLease] = []
    for view in views { if let lease = try budget?.reserve(view.byteCount) { pictures.append(lease) } }
    self.pictures = pictures
    let uploads = frames.reduce(0) { $0 + ($1?.storage.count ?? 0) }
    drawing = try budget?.reserve(views.reduce(uploads) { $0 + 2 * $1.byteCount })
  }

  /// The pictures that were drawn; each holds its part for as long as it is there.
  consuming func held(by drawn: [Picture]) -> [Picture] {
    guard pictures.count == drawn.count else { return drawn }
    return zip(drawn, pictures).map { $0.holding($1) }
  }
}

extension PlannedView {
  /// Of its picture.
  fileprivate var byteCount: Int {
    format.planeSizes(of: size).reduce(0) { $0 + $1.pixelCount * format.bytesPerSample }
  }
}
