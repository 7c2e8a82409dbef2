// Connections whose clients read slowly, or no longer.
internal import NIOCore

extension ChannelHandlerContext {
  /// Resets a connection whose client reads nothing. A plain close would leave the last data to the kernel,
  /// which retries for minutes and meanwhile hides the end of the connection; a reset discards it.
  package func reset() {
    channel.discardUnsent()
    close(promise: nil)
  }
}

extension Channel {
  /// Makes the channel unwritable while any byte waits, so that a slow connection skips pictures instead of
  /// falling behind.
  package func limitUnsentBytes(_ unsent: Int = 128 << 10) {
    _ = setOption(.writeBufferWaterMark, value: .init(low: 1, high: 1))
    guard remoteAddress?.ipAddress != nil else { return }
    // TCP_NOTSENT_LOWAT of <linux/tcp.h>.
    let notSentLowWaterMark = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: 25))
    _ = setOption(notSentLowWaterMark, value: unsent)
    _ = setOption(.tcpOption(.tcp_nodelay), value: 1)
  }

  /// Resets a connection whose client may have stopped reading: data that the kernel has not sent yet is
  /// discarded.
  package func reset() {
    discardUnsent()
    close(promise: nil)
  }

  fileprivate func discardUnsent() {
    guard let socket = self as? any SocketOptionProvider else { return }
    _ = socket.unsafeSetSocketOption(level: .socket, name: .so_linger, value: Linger.none)
  }
}

/// The value of SO_LINGER; NIO and the system both declare `linger`.
private struct Linger {
  let isOn: CInt
  let seconds: CInt

  static let none = Linger(isOn: 1, seconds: 0)
}
