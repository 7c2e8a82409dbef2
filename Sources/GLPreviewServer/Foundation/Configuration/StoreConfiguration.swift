// A store of pictures on another machine, and the keys below `snapshots.stores.NAME`.

/// A server that keeps the pictures of schedules.
package struct StoreConfiguration: Sendable, Hashable, CustomStringConvertible {
  /// The protocol by which a picture is stored.
  package enum Kind: String, Sendable { case s3, put }

  package let name: String
  package var kind = Kind.put
  /// The URL to which the names of pictures are appended; for S3 with the bucket. Without credentials.
  package var url = ""
  /// The region of an S3 store; nil for that of its host's name, or `us-east-1`.
  package var region: String?
  /// The identifier of an S3 key, and its secret.
  package var accessKey: String?
  package var secretKey: String?
  /// The credentials of PUT: a user and a password, or a bearer token.
  package var user: String?
  package var password: String?
  package var token: String?
  /// How often a picture is sent before it is given up.
  package var attempts = 5
  /// How many pictures wait; the oldest are dropped.
  package var capacity = 64

  package init(name: String) { self.name = name }

  /// The URL of an S3 store; nil for another kind.
  fileprivate var bucket: String? {
    get { kind == .s3 ? url : nil }
    set { (kind, url) = (.s3, newValue ?? "") }
  }

  /// The URL of a store with PUT; nil for another kind.
  fileprivate var folder: String? {
    get { kind == .put ? url : nil }
    set { (kind, url) = (.put, newValue ?? "") }
  }

  /// The kind and the URL, without secrets.
  package var description: String { "\(kind.rawValue) \(url)" }

  /// The words that schedules use for other destinations.
  package static let reservedNames = ["folder", "webhook", "mqtt"]
}

extension ConfigurationKeys {
  static let store: [ConfigurationKey<StoreConfiguration>] =
    [
      address(
        "s3", .s3,
        "the address of a bucket of an S3-compatible store, and perhaps a prefix: `https://s3.eu-central-1.amazonaws.com/BUCKET/PREFIX`"
      ),
      address("put", .put, "a URL below which pictures are stored by HTTP PUT"),
      .init(
        "region", storeWord, \.region, "that of the host's name, or `us-east-1`", "the region of an S3 store"),
      .init("access-key", storeWord, \.accessKey, "", "the identifier of a key of the S3 store"),
    ]
    + StoreKey.secret("secret-key", .token, \.secretKey, "", "the secret of that key")
    + [.init("user", .userName, \.user, "none", "the user name at a server with PUT")]
    + StoreKey.secret("password", .password, \.password, "none", "the user's password")
    + StoreKey.secret("token", .token, \.token, "none", "a bearer token for a server with PUT")
    + [
      .init(
        "attempts", .whole(1...100), \.attempts, "`5`", "the number of attempts before a picture is given up"),
      .init(
        "capacity", .whole(1...10_000), \.capacity, "`64`",
        "the maximum number of waiting pictures; the oldest are dropped"),
    ]

  private typealias StoreKey = ConfigurationKey<StoreConfiguration>

  private static func address(
    _ name: String, _ kind: StoreConfiguration.Kind, _ purpose: String
  ) -> StoreKey {
    kind == .s3
      ? StoreKey(name, storeAddress, \.bucket, "", purpose)
      : StoreKey(name, storeAddress, \.folder, "", purpose)
  }

  /// Reports what a store lacks, and what does not belong to its kind.
  @Sendable static func finish(
    _ reading: inout ConfigurationReader, _ place: ConfigurationPlace, _ store: inout StoreConfiguration
  ) {
    if StoreConfiguration.reservedNames.contains(store.name) || !LinkKey.isName(store.name) {
      reading.refuse(
        place,
        "a store's name must be 1 to 32 letters, digits, - and _, and none of "
          + StoreConfiguration.reservedNames.joined(separator: ", "))
    }
    let isS3 = reading.isSet(place["s3"])
    guard isS3 != reading.isSet(place["put"]) else {
      return reading.refuse(place, isS3 ? "has both s3 and put: set one of them" : "has neither s3 nor put")
    }
    func isSet(_ key: String) -> Bool { reading.isSet(place[key]) || reading.isSet(place["\(key)-file"]) }
    for key in isS3 ? ["user", "password", "token"] : ["region", "access-key", "secret-key"] where isSet(key)
    {
      reading.refuse(place[key], "is for a store with \(isS3 ? "put" : "s3") only")
    }
    if isS3 {
      for key in ["access-key", "secret-key"] where !isSet(key) {
        reading.refuse(place, "needs \(key)\(key == "secret-key" ? ", or secret-key-file" : "")")
      }
    } else if isSet("user") != isSet("password") {
      reading.refuse(place, "user and password must be set together")
    } else if isSet("user"), isSet("token") {
      reading.refuse(place["token"], "conflicts with user: set only one of them")
    }
  }

  private static let storeWord = ConfigurationFormat<String>("ASCII without spaces") { text in
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") })
    else {
      throw ParameterError("'\(text)' is not printable ASCII without spaces and slashes")
    }
    return text
  }

  /// The address without a query, credentials and a slash at the end. Its path is sent as it is written.
  private static let storeAddress = ConfigurationFormat<String>("`http://...`, `https://...`", isSecret: true)
  {
    text in
    let url = try ConfigurationFormat.webAddress.read(text, "")
    let rest = url.drop { $0 != ":" }.dropFirst(3)
    let (host, path) = (rest.prefix { $0 != "/" }, rest.drop { $0 != "/" })
    guard !host.contains("@") else {
      throw ParameterError("contains credentials: set user and password, or the keys of S3")
    }
    let isPlain = path.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "/-._~%".utf8.contains(byte)
      }
    }
    // Each % begins a byte in two digits.
    let isEncoded = path.split(separator: "%", omittingEmptySubsequences: false).dropFirst().allSatisfy {
      $0.utf8.count >= 2 && $0.prefix(2).allSatisfy(\.isHexDigit)
    }
    let port = host.split(separator: "]", omittingEmptySubsequences: false).last?.split(separator: ":")
      .dropFirst().last
    let isHost =
      host.utf8.allSatisfy { (0x21...0x7E).contains($0) } && !host.contains { "?#\\".contains($0) }
      && port.map { Int($0).map((1...65535).contains) ?? false } ?? true
    guard isPlain, isEncoded, isHost else {
      throw ParameterError(
        "must be a URL with a port up to 65535, no query, and a path of letters, digits, - . _ ~ and %XX")
    }
    return url.last == "/" ? String(url.dropLast()) : url
  }
}
