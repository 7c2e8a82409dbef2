// A buffer for asynchronous transfers between memory and the GPU.
internal import CGLES

/// A buffer for transfers in one direction.
///
/// Readback: `RenderTarget.read(into:)`, or `copy(_:to:)` from storage that compute shaders write, starts a copy, a `Fence`
/// reports when it is done, `withBytes` reads
/// it. Upload: `replace(with:)` fills it, `Texture.replace(from:)` starts a copy, and a `Fence` reports when
/// it may be filled again.
struct PixelBuffer: ~Copyable {
  enum Use: Sendable, Hashable {
    case upload
    case readback
    /// Written by compute shaders, or copied to, and copied from.
    case storage
    /// Read by compute shaders as a block of uniforms.
    case uniforms

    fileprivate var target: GLenum {
      switch self {
      case .upload: GLenum(GL_PIXEL_UNPACK_BUFFER)
      case .readback: GLenum(GL_PIXEL_PACK_BUFFER)
      case .storage: GLenum(GL_COPY_READ_BUFFER)
      case .uniforms: GLenum(GL_UNIFORM_BUFFER)
      }
    }

    fileprivate var hint: GLenum {
      switch self {
      case .upload: GLenum(GL_STREAM_DRAW)
      case .readback: GLenum(GL_STREAM_READ)
      case .storage: GLenum(GL_STREAM_COPY)
      case .uniforms: GLenum(GL_STATIC_DRAW)
      }
    }
  }

  let byteCount: Int
  private let use: Use
  private let name: GLuint
  private let lease: MemoryLease?

  init(byteCount: Int, for use: Use = .readback) throws(GLError) {
    let memory = GLMemory.reserve(byteCount)
    var name: GLuint = 0
    unsafe glGenBuffers(1, &name)
    self.name = name
    lease = memory.lease
    self.use = use
    self.byteCount = byteCount
    GLLedger.add(.pixelBuffer)
    try memory.check("a pixel buffer of \(byteCount) bytes")
    bind()
    glBufferData(use.target, byteCount, nil, use.hint)
    unbind()
    try GLError.check("a pixel buffer of \(byteCount) bytes")
  }

  deinit {
    unsafe withUnsafePointer(to: name) { unsafe glDeleteBuffers(1, $0) }
    GLLedger.remove(.pixelBuffer)
  }

  borrowing func bind() { glBindBuffer(use.target, name) }

  /// Makes it the target of `glReadPixels`, until `unbindFromPacking`.
  borrowing func bindForPacking() { glBindBuffer(GLenum(GL_PIXEL_PACK_BUFFER), name) }

  borrowing func unbindFromPacking() { glBindBuffer(GLenum(GL_PIXEL_PACK_BUFFER), 0) }

  /// Makes it a storage block of compute shaders.
  borrowing func bindStorage(at binding: Int = 0) {
    glBindBufferBase(GLenum(GL_SHADER_STORAGE_BUFFER), GLuint(binding), name)
  }

  /// Makes it a uniform block.
  borrowing func bindUniforms(at binding: Int) {
    glBindBufferBase(GLenum(GL_UNIFORM_BUFFER), GLuint(binding), name)
  }

  /// Makes the GPU copy `range`, in bytes, to another buffer, without waiting.
  borrowing func copy(
    _ range: Range<Int>, to other: borrowing PixelBuffer, at offset: Int
  ) throws(GLError) {
    glBindBuffer(GLenum(GL_COPY_READ_BUFFER), name)
    glBindBuffer(GLenum(GL_COPY_WRITE_BUFFER), other.name)
    glCopyBufferSubData(
      GLenum(GL_COPY_READ_BUFFER), GLenum(GL_COPY_WRITE_BUFFER), range.lowerBound, offset, range.count)
    glBindBuffer(GLenum(GL_COPY_READ_BUFFER), 0)
    glBindBuffer(GLenum(GL_COPY_WRITE_BUFFER), 0)
    try GLError.check("copying \(range.count) bytes of a pixel buffer")
  }

  borrowing func unbind() { glBindBuffer(use.target, 0) }

  /// Maps a range of bytes, or all, while `body` runs. Waits for a pending copy into them.
  borrowing func withBytes<Result>(
    _ range: Range<Int>? = nil, _ body: (Span<UInt8>) -> Result
  ) throws(GLError) -> Result {
    return unsafe try mapped(range ?? 0..<byteCount, GL_MAP_READ_BIT) { memory in
      unsafe body(Span(_unsafeBytes: UnsafeRawBufferPointer(memory)))
    }
  }

  /// Fills the buffer with `rowCount` rows of `rowByteCount` bytes without padding. In `rows` they are
  /// `bytesPerRow` apart; missing bytes of a row become zeros.
  ///
  /// Does not wait: the GPU must have finished reading from the buffer.
  borrowing func replace(
    with rows: Span<UInt8>, bytesPerRow: Int, rowByteCount: Int, rowCount: Int
  ) throws(GLError) {
    let (count, overflow) = rowByteCount.multipliedReportingOverflow(by: rowCount)
    precondition(!overflow && bytesPerRow >= 0, "rows of a frame")
    // A fence has shown that the GPU no longer reads the buffer, so the driver need not check.
    let access = GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT | GL_MAP_UNSYNCHRONIZED_BIT
    try unsafe mapped(0..<count, access) { memory in
      unsafe rows.withUnsafeBytes { rows in
        if bytesPerRow == rowByteCount, rows.count >= count {
          unsafe memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: rows[..<count]))
          return
        }
        for row in 0..<rowCount {
          let (start, target) = (min(row * bytesPerRow, rows.count), row * rowByteCount)
          let given = min(rowByteCount, bytesPerRow, rows.count - start)
          unsafe UnsafeMutableRawBufferPointer(rebasing: memory[target..<target + given])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: rows[start..<start + given]))
          for index in target + given..<target + rowByteCount { unsafe memory[index] = 0 }
        }
      }
    }
  }

  @unsafe private borrowing func mapped<Result>(
    _ range: Range<Int>, _ access: Int32, _ body: (UnsafeMutableRawBufferPointer) -> Result
  ) throws(GLError) -> Result {
    let activity = "mapping \(range.count) bytes of a pixel buffer"
    guard range.count > 0, range.upperBound <= byteCount else {
      throw GLError(activity, .size(needed: range.upperBound, given: byteCount))
    }
    bind()
    defer { unbind() }
    let memory = unsafe glMapBufferRange(use.target, range.lowerBound, range.count, GLbitfield(access))
    try GLError.check(activity)
    guard let memory = unsafe memory else { throw GLError(activity, .flag(GLenum(GL_OUT_OF_MEMORY))) }
    let result = unsafe body(UnsafeMutableRawBufferPointer(start: memory, count: range.count))
    // False if the memory was lost meanwhile (a mode change, a reset): then the data is invalid.
    guard glUnmapBuffer(use.target) == GLboolean(GL_TRUE) else {
      throw GLError("unmapping a pixel buffer", .flag(GLenum(GL_CONTEXT_LOST)))
    }
    return result
  }
}

@available(*, unavailable) extension PixelBuffer: Sendable {}
