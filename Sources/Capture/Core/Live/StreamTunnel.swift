// A tunnel to a stream's server that GLPreview itself opens for FFmpeg, because FFmpeg does not verify
// certificates for RTSP.

/// An open tunnel.
package struct StreamTunnel: Sendable {
  /// The address that FFmpeg connects to, with user and password.
  package let address: String
  /// Closes the tunnel with all its connections. Called once.
  package let end: @Sendable () async -> Void

  package init(address: String, end: @escaping @Sendable () async -> Void) {
    (self.address, self.end) = (address, end)
  }

  /// Opens a tunnel to the server of an address; `name` is the address for messages. Returns within half a
  /// second after the task is cancelled, and leaves nothing open if it throws.
  package typealias Open =
    @Sendable (_ address: String, _ name: String, SourceOptions) async throws -> StreamTunnel
}
