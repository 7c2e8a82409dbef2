// Answers as large as pictures, which count against the memory budget until the client has taken them.
internal import GLPreview
internal import Hummingbird
internal import NIOCore

extension ResponseBody {
  /// Creates a body that holds `lease` until `channel` has taken all but the last of `bytes`.
  init(_ bytes: ByteBuffer, holding lease: MemoryLease, on channel: any Channel) {
    self.init(contentLength: bytes.readableBytes) { writer in
      var rest = bytes
      while rest.readableBytes > Self.partLength, let part = rest.readSlice(length: Self.partLength) {
        try await writer.write(part)
        // A write only waits if the event loop knows that the socket is full: it has to see this one first.
        try await channel.eventLoop.submit {}.get()
      }
      try await writer.write(rest)
      try await writer.finish(nil)
      withExtendedLifetime(lease) {}
    }
  }

  /// Larger than most pictures, which need one write.
  private static var partLength: Int { 256 << 10 }
}
