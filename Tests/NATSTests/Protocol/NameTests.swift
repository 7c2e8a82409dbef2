import Testing

@testable import NATS

@Suite("NATS names and addresses")
struct NameTests {
  @Test("keys and names with empty parts or characters that servers do not accept are rejected")
  func names() {
    for key in ["a", "a.b", "n/1", "A-_=", "0"] {
      #expect(throws: Never.self) { try NATSSubject.checkKey(key) }
    }
    for key in ["", ".a", "a.", "a..b", "a b", "ä", "*", "a.>", "a\r\n"] {
      #expect(throws: NATSError.invalidName(key)) { try NATSSubject.checkKey(key) }
    }
    for name in ["", "a.b", "a b", "*", "a/b", "ä"] {
      #expect(throws: NATSError.invalidName(name)) { try NATSSubject.checkName(name) }
    }
    #expect(NATSSubject.isToken("front-door_2") && !NATSSubject.isToken("a.b"))
  }

  @Test("server addresses are parsed with and without scheme and port")
  func addresses() throws {
    #expect(try NATSServerAddress("nats://a.example:1").description == "a.example:1")
    #expect(try NATSServerAddress("a").port == 4222)
    #expect(try NATSServerAddress("tls://a/").requiresTLS)
    #expect(try NATSServerAddress("[::1]:99").host == "::1")
    #expect(try NATSServerAddress("nats://[::1]").description == "[::1]:4222")
  }

  @Test(
    "an invalid server address, or one with credentials, is rejected",
    arguments: [
      "", "nats://", "http://a", "a:0", "a:65536", "a:x", "a:", "a:+1", "::1", "[::1", "[a]", "a/b",
      "user:secret@a",
      "nats://token@a:1", "a b", "a\n",
    ])
  func badAddresses(text: String) {
    #expect(throws: NATSError.self) { try NATSServerAddress(text) }
  }

  @Test("a server address learned from another keeps its TLS requirement and certificate name")
  func toldAddresses() throws {
    let teller = try NATSServerAddress("tls://nats.example:4443")
    let told = try #require(NATSServerAddress("10.0.0.2:4222", listedBy: teller))
    let next = try #require(NATSServerAddress("10.0.0.3:4222", listedBy: told))

    #expect(
      told.requiresTLS && told.certificateName == "nats.example" && next.certificateName == "nats.example")
  }
}

@Suite("nkeys")
struct NKeyTests {
  /// From the documentation of NATS.
  static let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
  static let publicKey = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"

  @Test("an nkey seed gives its public key and a signature in base64url")
  func seeds() throws {
    let key = try NKey(seed: Self.seed)
    let signature = try key.signature(of: "nonce")

    #expect(key.publicKey == Self.publicKey)
    // As Python's cryptography signs with the same seed: Ed25519 is deterministic.
    #expect(
      signature == "AVfpO7Pw3rc56hoO1OJcFxXUCfBmO2qouchBchSlL45Fuur9zS15UzytEI1QC5wwVG7uiHIdqyfmOS6uPrwqCg")
  }

  @Test(
    "an invalid nkey seed throws an error that does not contain the seed",
    arguments: [
      "", "SU", publicKey, seed.lowercased(), seed + "7", String(seed.dropLast()),
      seed.replacing("SUAC", with: "SUAD"),
      seed.replacing("SU", with: "SA"), String(repeating: "A", count: 58),
    ])
  func refusals(text: String) {
    #expect(
      throws: NATSError.invalidConfiguration("an nkey seed is 58 letters and digits that begin with SU")
    ) {
      try NKey(seed: text)
    }
  }

  @Test("descriptions of credentials and configurations contain no secrets")
  func secrecy() throws {
    let key = try NKey(seed: Self.seed)
    for authentication: NATSAuthentication in [.token("secret"), .user("u", password: "secret"), .nkey(key)] {
      var text = "\(authentication) \(String(reflecting: authentication))"
      dump(authentication, to: &text)
      #expect(!text.contains("secret") && !text.contains(Self.seed), "\(text)")
    }
    var configuration = NATSConfiguration(servers: [])
    configuration.authentication = .token("secret")
    var text = "\(configuration)"
    dump(configuration, to: &text)
    #expect(!text.contains("secret"), "\(text)")
  }
}
