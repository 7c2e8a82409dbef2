// What is known of a request beside its bytes.
internal import GLPreview
internal import Hummingbird
internal import NIOCore

/// A request's surroundings: who asks, from where, and what he may do.
struct ServiceContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The connection; streams write to it directly.
  let channel: any Channel
  /// Where the request comes from: an address without a port, `unix` of a local socket.
  let clientAddress: String
  /// When the request began.
  let startedAt = CaptureClock.now
  /// What the one who asks may do; set by `AccessMiddleware`, nil before it.
  var role: Role?

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
    clientAddress = source.channel.remoteAddress?.ipAddress ?? "unix"
  }

  /// What is left of the time that a request has; a millisecond at least, for what is there already.
  func rest(of limit: Duration) -> Duration { max(limit - (CaptureClock.now - startedAt), .milliseconds(1)) }

  /// The most bytes of a body; set by `BodyMiddleware` to what the configuration says.
  var maxUploadSize = ServiceLimits().requestBytes
}
