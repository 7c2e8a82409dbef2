// STUN messages (RFC 8489) for ICE's connection checks (RFC 8445): binding requests and their answers.
internal import Cryptography
internal import FoundationEssentials

/// A STUN message, with the attributes that ICE needs.
struct STUNMessage: Sendable, Hashable {
  enum Kind: UInt16, Sendable, Hashable {
    case bindingRequest = 0x0001
    case bindingIndication = 0x0011
    case bindingSuccess = 0x0101
    case bindingError = 0x0111
  }

  /// An address as messages carry it.
  struct Address: Sendable, Hashable {
    /// Four bytes, or sixteen.
    var bytes: [UInt8]
    var port: UInt16
  }

  var kind: Kind
  /// Twelve bytes.
  var transaction: [UInt8]
  /// For ICE: the receiver's fragment, a colon, and the sender's fragment.
  var username: [UInt8]?
  /// Whether the sender has chosen this pair of addresses.
  var nominates = false
  var mappedAddress: Address?
  /// The priority of the candidate that a check would reveal.
  var priority: UInt32?
  /// The tie-breaker of a sender that lets the other side choose, for the case that both do.
  var controlled: UInt64?
  /// The bytes before MESSAGE-INTEGRITY with the length that its HMAC expects, and the HMAC; nil without one.
  private var sealed: Seal?

  private struct Seal: Sendable, Hashable {
    let bytes: [UInt8]
    let code: [UInt8]
  }

  private enum Attribute: UInt16 {
    case username = 0x0006
    case integrity = 0x0008
    case xorMappedAddress = 0x0020
    case priority = 0x0024
    case useCandidate = 0x0025
    case fingerprint = 0x8028
    case controlled = 0x8029
  }

  private static let cookie: [UInt8] = [0x21, 0x12, 0xA4, 0x42]
  private static let headerBytes = 20
  private static let codeBytes = 20
  private static let mostBytes = 1500

  init(_ kind: Kind, transaction: [UInt8]) {
    (self.kind, self.transaction) = (kind, transaction)
  }

  // MARK: Reading

  /// Nil if the bytes are not a whole STUN message, or their fingerprint is wrong. Attributes after
  /// MESSAGE-INTEGRITY other than FINGERPRINT are ignored, because nothing proves them (14.5).
  init?(_ message: [UInt8]) {
    guard message.count >= Self.headerBytes, message.count <= Self.mostBytes,
      let kind = Kind(rawValue: Self.word(message, 0)),
      Int(Self.word(message, 2)) == message.count - Self.headerBytes, message.count % 4 == 0,
      Array(message[4..<8]) == Self.cookie
    else { return nil }
    self.init(kind, transaction: Array(message[8..<20]))
    var offset = Self.headerBytes
    while offset < message.count {
      guard offset + 4 <= message.count else { return nil }
      let (type, length) = (Self.word(message, offset), Int(Self.word(message, offset + 2)))
      let start = offset + 4
      guard start + length <= message.count else { return nil }
      let value = message[start..<start + length]
      switch Attribute(rawValue: type) {
      case .username where sealed == nil && username == nil: username = Array(value)
      case .useCandidate where sealed == nil: nominates = true
      case .priority where sealed == nil && priority == nil:
        guard length == 4 else { return nil }
        priority = value.reduce(0) { $0 << 8 | UInt32($1) }
      case .controlled where sealed == nil && controlled == nil:
        guard length == 8 else { return nil }
        controlled = value.reduce(0) { $0 << 8 | UInt64($1) }
      case .xorMappedAddress where sealed == nil && mappedAddress == nil:
        guard let address = Self.address(Array(value), transaction) else { return nil }
        mappedAddress = address
      case .integrity where sealed == nil:
        guard length == Self.codeBytes else { return nil }
        var bytes = Array(message[..<offset])
        Self.set(length: start + length, in: &bytes)
        sealed = Seal(bytes: bytes, code: Array(value))
      case .fingerprint:
        guard length == 4, start + length == message.count,
          Array(value) == Self.fingerprint(of: message[..<offset], length: start + length)
        else { return nil }
      default: break
      }
      offset = start + (length + 3) / 4 * 4
    }
  }

  /// Whether its sender knows `password`.
  func isSealed(with password: [UInt8]) -> Bool {
    guard let sealed, let code = Self.code(of: sealed.bytes, password) else { return false }
    return code.isEqualInConstantTime(to: sealed.code)
  }

  // MARK: Writing

  /// The message with MESSAGE-INTEGRITY by `password`, and FINGERPRINT.
  func bytes(sealedWith password: [UInt8]) -> [UInt8] {
    var message: [UInt8] = []
    message.append(word: kind.rawValue)
    message += [0, 0] + Self.cookie + transaction
    if let username { Self.append(.username, username, to: &message) }
    if let priority { Self.append(.priority, Self.bytes(of: priority), to: &message) }
    if let controlled { Self.append(.controlled, Self.bytes(of: controlled), to: &message) }
    if nominates { Self.append(.useCandidate, [], to: &message) }
    if let mappedAddress { Self.append(.xorMappedAddress, xored(mappedAddress), to: &message) }
    Self.set(length: message.count + 4 + Self.codeBytes, in: &message)
    if let code = Self.code(of: message, password) { Self.append(.integrity, code, to: &message) }
    let fingerprint = Self.fingerprint(of: message[...], length: message.count + 8)
    Self.append(.fingerprint, fingerprint, to: &message)
    Self.set(length: message.count, in: &message)
    return message
  }

  /// Nil if OpenSSL refuses HMAC-SHA1. It then refuses DTLS as well, so that no session gets here.
  private static func code(of message: [UInt8], _ password: [UInt8]) -> [UInt8]? {
    try? HashFunction.sha1.authenticationCode(of: message, key: password)
  }

  private static func append(_ type: Attribute, _ value: [UInt8], to message: inout [UInt8]) {
    message.append(word: type.rawValue)
    message.append(word: UInt16(value.count))
    message += value
    while message.count % 4 != 0 { message.append(0) }
  }

  private static func bytes(of number: some FixedWidthInteger) -> [UInt8] {
    stride(from: number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  private static func set(length: Int, in message: inout [UInt8]) {
    let rest = UInt16(length - headerBytes)
    (message[2], message[3]) = (UInt8(rest >> 8), UInt8(rest & 0xFF))
  }

  private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt16 {
    UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
  }

  // MARK: Addresses

  private func xored(_ address: Address) -> [UInt8] {
    let mask = Self.cookie + transaction
    var bytes: [UInt8] = [0, address.bytes.count == 4 ? 1 : 2]
    bytes.append(word: address.port ^ 0x2112)
    return bytes + zip(address.bytes, mask).map { $0 ^ $1 }
  }

  private static func address(_ value: [UInt8], _ transaction: [UInt8]) -> Address? {
    guard value.count == 8 && value[1] == 1 || value.count == 20 && value[1] == 2 else { return nil }
    let bytes = zip(value[4...], cookie + transaction).map { $0 ^ $1 }
    return Address(bytes: bytes, port: word(value, 2) ^ 0x2112)
  }

  // MARK: The fingerprint

  /// The CRC-32 of a message of `length` bytes that begins with `head`, XORed with "STUN" (14.7).
  private static func fingerprint(of head: ArraySlice<UInt8>, length: Int) -> [UInt8] {
    var head = Array(head)
    set(length: length, in: &head)
    var sum = UInt32.max
    for byte in head { sum = sum >> 8 ^ sums[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] }
    let value = ~sum ^ 0x5354_554E
    return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  /// CRC-32 of ITU V.42, by byte.
  private static let sums: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
  }
}

extension [UInt8] {
  fileprivate mutating func append(word: UInt16) {
    append(UInt8(word >> 8))
    append(UInt8(word & 0xFF))
  }
}
