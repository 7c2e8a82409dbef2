// A request as a NATS message, and the checks that it must pass.
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NATS
internal import NIOCore

/// A request to the node that has a camera, parsed with the care that another machine's message needs.
struct BrokerRequest: Sendable {
  /// The kind of a request: the token before the camera in its subject.
  enum Kind: String, Sendable {
    /// Reads pictures.
    case read = "snap"
    /// Any other request. It needs the role `control` unless it only reads.
    case command = "cmd"
  }

  let request: Request
  /// The role that the request has: its subject's, or a lower one that the sender names.
  let role: Role
  /// The epoch of the camera's owner that the sender knows.
  let epoch: UInt64?
  /// How long the sender waits, and whether the sender has set that.
  let limit: Duration
  let setsLimit: Bool

  /// Names of message header fields that are not HTTP fields.
  enum Field {
    static let method = "Method"
    static let target = "Target"
    static let role = "Role"
    static let epoch = "Epoch"
    /// In milliseconds.
    static let deadline = "Deadline"
    /// In an answer. 303 means that the answer is too large for a message.
    static let status = "Status"
  }

  /// HTTP header fields that are passed through.
  static let fields: [HTTPField.Name] = [.accept, .contentType, .ifNoneMatch, .ifMatch]
  private static let longestField = 1024
  private static let longestTarget = 4096
  private static let longestWait = 600_000
  private static let usualWait = Duration.seconds(15)
  private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete]
  private static let pictures = [".jpg", ".jpeg", ".png"]

  /// - Throws: `Problem` for a message that is not such a request, or is about another camera.
  init(_ message: NATSMessage, _ kind: Kind, of camera: String, mostBytes: Int) throws(Problem) {
    let headers = message.headers
    guard let method = HTTPRequest.Method(rawValue: headers[Field.method] ?? "GET"),
      let target = headers[Field.target]
    else { throw Problem(.badRequest, "a request must have a Method and a Target") }
    guard let needed = Self.kind(of: method, target, about: camera), kind == .command || needed == .read
    else {
      throw Problem(.badRequest, "this subject does not accept requests for this target")
    }
    guard message.payload.count <= mostBytes else {
      throw Problem(.contentTooLarge, "the request body may have at most \(mostBytes) bytes")
    }
    epoch = try Self.number(headers[Field.epoch])
    let wait = try Self.number(headers[Field.deadline]).map { min($0, UInt64(Self.longestWait)) }
    (limit, setsLimit) = (wait.map { .milliseconds(Int64($0)) } ?? Self.usualWait, wait != nil)
    // The field can only lower the role that the subject grants. An unknown role counts as the lowest.
    let asked = headers[Field.role].map { Role(rawValue: $0) ?? .read }
    role = kind == .read ? .read : asked ?? .control
    var fields = HTTPFields()
    for name in Self.fields {
      guard let value = headers[name.canonicalName] ?? headers[name.rawName] else { continue }
      guard value.utf8.count <= Self.longestField else {
        throw Problem(.badRequest, "\(name) is too long")
      }
      fields[name] = value
    }
    // Answered only for this node's own cameras.
    fields[named: PeerField.hop] = "1"
    if method.mayHaveBody { fields[.contentLength] = "\(message.payload.count)" }
    let head = HTTPRequest(method: method, scheme: nil, authority: nil, path: target, headerFields: fields)
    request = Request(
      head: head,
      body: RequestBody(buffer: method.mayHaveBody ? ByteBuffer(bytes: message.payload) : ByteBuffer()))
  }

  private static func number(_ text: String?) throws(Problem) -> UInt64? {
    guard let text else { return nil }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt64(text) else {
      throw Problem(.badRequest, "the epoch and the deadline must be whole numbers")
    }
    return number
  }

  /// The kind as which a request for a camera can be sent. Nil if it needs HTTP: endless answers, WebRTC,
  /// whose answers depend on the connection, and snapshots of all views, which may be too large for a message
  /// and can't be taken twice.
  ///
  /// The path must contain the camera's name without percent-encoding.
  static func kind(of method: HTTPRequest.Method, _ target: String, about camera: String) -> Kind? {
    guard methods.contains(method), NATSSubject.isToken(camera), target.utf8.count <= longestTarget,
      target.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x23 && $0 != 0x5C }),
      target.hasPrefix("/")
    else { return nil }
    let path = target.prefix { $0 != "?" }
    let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." }) else { return nil }
    let isRead = method == .get || method == .head
    switch parts.count {
    case 2 where path == "/api/frame.jpeg":
      let sources = URI(target).queryParameters[values: "src"]
      let name = sources.first?.prefix { $0 != "/" }
      return isRead && sources.count == 1 && name.map { $0 == camera } == true ? .read : nil
    case 3 where parts[0] == "cameras" && parts[1] == camera:
      return isRead && pictures.contains { parts[2].hasSuffix($0) } ? .read : nil
    case 3... where parts[0] == "api" && parts[1] == "cameras" && parts[2] == camera:
      return method == .post && parts.last == "snapshots" ? nil : .command
    default: return nil
    }
  }
}

extension HTTPRequest.Method {
  /// Whether requests have a body.
  fileprivate var mayHaveBody: Bool { self != .get && self != .head && self != .options }
}
