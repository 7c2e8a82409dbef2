// Signs requests to S3 and to stores that are compatible with it. Values, no I/O.
internal import Cryptography

/// AWS signature version 4 for S3, in the `Authorization` field, of a payload that is sent in one piece.
///
/// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
struct S3Signature: Sendable {
  let accessKey: String
  let secretKey: String
  /// The store's region: `eu-central-1`. Stores other than Amazon's usually accept `us-east-1`.
  let region: String

  private static let algorithm = "AWS4-HMAC-SHA256"

  /// Returns the fields to add to a request without a query: `x-amz-date`, `x-amz-content-sha256` and
  /// `Authorization`.
  ///
  /// `host` is the `Host` field exactly as it is sent: with the port unless that is the scheme's default.
  /// `path` is the path as it is sent, encoded once (`encoded(path:)`). `payload` is the whole body. Of the
  /// other fields, each with a name of its own, `Content-Type`, `Date` and `x-amz-...` are signed, so they
  /// must be sent with these values. `time` is in seconds since 1970; a server accepts the fields for about
  /// 15 minutes around it, so each attempt needs new ones.
  func fields(
    of method: String, host: String, path: String, payload: [UInt8],
    others: [(name: String, value: String)] = [], at time: Int
  ) throws(CryptographyError) -> [(name: String, value: String)] {
    let hash = Hexadecimal.text(of: try HashFunction.sha256.hash(of: payload))
    let timestamp = Self.timestamp(time)
    let added = [(name: "x-amz-date", value: timestamp), (name: "x-amz-content-sha256", value: hash)]

    let signed = ([(name: "host", value: host)] + others.filter { Self.isSigned($0.name) } + added)
      .map { (name: $0.name.lowercased(), value: Self.canonical(value: $0.value)) }
      .sorted { $0.name < $1.name }
    let names = signed.map(\.name).joined(separator: ";")
    // The empty line in the middle stands for the query.
    let request =
      ([method, path.isEmpty ? "/" : path, ""] + signed.map { "\($0.name):\($0.value)" } + ["", names, hash])
      .joined(separator: "\n")

    let scope = [String(timestamp.prefix(8)), region, "s3", "aws4_request"]
    let requestHash = Hexadecimal.text(of: try HashFunction.sha256.hash(of: Array(request.utf8)))
    let text = [Self.algorithm, timestamp, scope.joined(separator: "/"), requestHash]
      .joined(separator: "\n")
    let signature = try HashFunction.sha256.authenticationCode(of: Array(text.utf8), key: key(of: scope))
    let authorization =
      "\(Self.algorithm) Credential=\(accessKey)/\(scope.joined(separator: "/")), "
      + "SignedHeaders=\(names), Signature=\(Hexadecimal.text(of: signature))"
    return added + [(name: "Authorization", value: authorization)]
  }

  /// Returns the path with all but `/` and RFC 3986's unreserved characters percent-encoded, in capitals.
  static func encoded(path: String) -> String {
    path.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"), UInt8(ascii: "/"):
        String(UnicodeScalar(byte))
      default: "%" + Hexadecimal.text(of: [byte]).uppercased()
      }
    }.joined()
  }

  /// Returns the region in the name of one of Amazon's hosts, with or without a bucket and a port:
  /// `eu-central-1` of `bucket.s3.eu-central-1.amazonaws.com` and of `s3-eu-central-1.amazonaws.com`; nil of
  /// `s3.amazonaws.com` and of other hosts.
  static func region(ofHost host: String) -> String? {
    var labels = host.lowercased().prefix { $0 != ":" }.split(separator: ".")
    // China's hosts.
    if labels.last == "cn" { labels.removeLast() }
    guard labels.suffix(2) == ["amazonaws", "com"] else { return nil }
    labels.removeLast(2)
    guard let last = labels.popLast() else { return nil }
    if last.hasPrefix("s3-") { return isRegion(last.dropFirst(3)) ? String(last.dropFirst(3)) : nil }
    // Hosts that are reached by IPv6 as well.
    if labels.last == "dualstack" { labels.removeLast() }
    guard let service = labels.last, service == "s3" || service.hasPrefix("s3-") else { return nil }
    return isRegion(last) ? String(last) : nil
  }

  /// The key of one day, region and service.
  private func key(of scope: [String]) throws(CryptographyError) -> [UInt8] {
    var key = Array("AWS4\(secretKey)".utf8)
    for part in scope { key = try HashFunction.sha256.authenticationCode(of: Array(part.utf8), key: key) }
    return key
  }

  /// Amazon requires `Content-Type` and `x-amz-...`, and its example signs `Date`. Other fields are left out,
  /// because a proxy may change them.
  private static func isSigned(_ name: String) -> Bool {
    let name = name.lowercased()
    return ["content-type", "date"].contains(name) || name.hasPrefix("x-amz-")
  }

  /// Returns the value without spaces at its ends, and with single spaces inside.
  private static func canonical(value: String) -> String {
    value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
  }

  /// Returns `20261130T120000Z` for 2026-11-30 12:00:00 UTC.
  private static func timestamp(_ time: Int) -> String {
    let text = WallTime(sinceEpoch: .seconds(time)).description
    return text.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
  }

  /// Whether the label is like `eu-central-1`, not like `external-1`.
  private static func isRegion(_ label: Substring) -> Bool {
    label.split(separator: "-").count >= 3 && label.last?.isNumber == true
  }
}
