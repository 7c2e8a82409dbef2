// Signatures of requests to S3, compared with those of Amazon's documentation and of botocore.
import Testing

@testable import Schedules

@Suite("Signatures for S3")
struct S3SignatureTests {
  /// A request with the fields that another program computed for it.
  struct Example: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let region: String
    let host: String
    let path: String
    var payload = picture
    var others = [Field(name: "Content-Type", value: "image/jpeg")]
    /// Seconds since 1970.
    let time: Int

    let date: String
    var hash = "b67d7e314e5c8cbc2739df8d743ad513ec801debcf8df366f607f737c93ab094"
    var signedFields = "content-type;host;x-amz-content-sha256;x-amz-date"
    let signature: String
  }

  struct Field: Sendable, Equatable {
    let name: String
    let value: String
  }

  private static let picture: [UInt8] = [0xFF, 0xD8] + Array("picture".utf8) + [0xFF, 0xD9]

  /// "Example: PUT Object" of
  /// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
  private static let documented = Example(
    testDescription: "Amazon's example", region: "us-east-1", host: "examplebucket.s3.amazonaws.com",
    path: "/test%24file.text", payload: Array("Welcome to Amazon S3.".utf8),
    others: [
      Field(name: "Date", value: "Fri, 24 May 2013 00:00:00 GMT"),
      Field(name: "x-amz-storage-class", value: "REDUCED_REDUNDANCY"),
    ],
    time: 1_369_353_600, date: "20130524T000000Z",
    hash: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
    signedFields: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
    signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")

  /// Signed by S3SigV4Auth of botocore 1.44.8, with `payload_signing_enabled`.
  private static let botocore = [
    Example(
      testDescription: "a plain path", region: "eu-central-1", host: "s3.eu-central-1.amazonaws.com",
      path: "/my-bucket/cams/garden/main/2026-11-30T12-00-00Z.jpg", time: 1_796_040_000,
      date: "20261130T120000Z",
      signature: "088a76814aeec667294c62bc92147a4e047673db9a612d61e9a8644642f35217"),
    Example(
      testDescription: "an encoded path", region: "us-east-1", host: "s3.us-east-1.amazonaws.com",
      path: "/bucket/t%C3%BCr%20und%20tor/a%2Bb%3D~c.jpg", time: 1_709_251_198, date: "20240229T235958Z",
      signature: "aaf7bd13524f2d08450a8b4e74b62d35d26112ac839a0864d422af038c13520a"),
    Example(
      testDescription: "a port, and no other fields", region: "us-east-1", host: "127.0.0.1:9000",
      path: "/bucket/latest.jpg", others: [], time: 1_767_323_045, date: "20260102T030405Z",
      signedFields: "host;x-amz-content-sha256;x-amz-date",
      signature: "bd53a2446e0290cd6f7b29d509d396753680b2b6f999e18be216a439ce61530f"),
    Example(
      testDescription: "an empty payload", region: "ap-southeast-2", host: "minio.example",
      path: "/bucket/empty", payload: [], time: 1_798_675_200, date: "20261231T000000Z",
      hash: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      signature: "de9ea0d41dfcdb16e295956bc4b072669d6d2911774d92767b32124361c7106d"),
    Example(
      testDescription: "spaces in values, and capitals in names", region: "eu-central-1",
      host: "s3.eu-central-1.amazonaws.com", path: "/my-bucket/x.jpg",
      others: [
        Field(name: "Content-Type", value: "  image/jpeg;   q=1 "),
        Field(name: "x-amz-acl", value: "private"),
        Field(name: "X-Amz-Meta-Moment", value: "2026"), Field(name: "User-Agent", value: "glpreview"),
      ],
      time: 1_796_040_000, date: "20261130T120000Z",
      signedFields: "content-type;host;x-amz-acl;x-amz-content-sha256;x-amz-date;x-amz-meta-moment",
      signature: "a4fb2072f7900d7997b9ddc533132f9b4566c84f13a93665474f2eb8ca1ccdf6"),
  ]

  @Test("signatures equal those of Amazon's example and of botocore", arguments: [documented] + botocore)
  func signature(example: Example) throws {
    let signature = S3Signature(
      accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      region: example.region)

    let fields = try signature.fields(
      of: "PUT", host: example.host, path: example.path, payload: example.payload,
      others: example.others.map { ($0.name, $0.value) }, at: example.time)

    let scope = "\(example.date.prefix(8))/\(example.region)/s3/aws4_request"
    #expect(
      fields.map { Field(name: $0.name, value: $0.value) } == [
        Field(name: "x-amz-date", value: example.date),
        Field(name: "x-amz-content-sha256", value: example.hash),
        Field(
          name: "Authorization",
          value: "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/\(scope), "
            + "SignedHeaders=\(example.signedFields), Signature=\(example.signature)"),
      ])
  }

  @Test(
    "all but slashes and unreserved characters of a path are percent-encoded",
    arguments: [
      ("/my-bucket/cams/A_1.~Z9/x.jpg", "/my-bucket/cams/A_1.~Z9/x.jpg"),
      ("/bucket/tür und tor/a+b=~c.jpg", "/bucket/t%C3%BCr%20und%20tor/a%2Bb%3D~c.jpg"),
      ("/test$file.text", "/test%24file.text"), ("/100%/a%20b", "/100%25/a%2520b"),
      ("/?#&:@!'()*;,[]", "/%3F%23%26%3A%40%21%27%28%29%2A%3B%2C%5B%5D"), ("/\u{7F}\u{1}", "/%7F%01"),
      ("", ""),
    ])
  func encoding(path: String, encoded: String) {
    #expect(S3Signature.encoded(path: path) == encoded)
  }

  @Test(
    "the region is found in the names of Amazon's hosts",
    arguments: [
      ("s3.eu-central-1.amazonaws.com", "eu-central-1"), ("S3.EU-Central-1.AmazonAWS.com", "eu-central-1"),
      ("s3-eu-west-1.amazonaws.com", "eu-west-1"), ("s3.us-gov-east-1.amazonaws.com:443", "us-gov-east-1"),
      ("my.own-bucket.s3.ap-south-1.amazonaws.com", "ap-south-1"),
      ("bucket.s3-us-west-2.amazonaws.com", "us-west-2"), ("s3.cn-north-1.amazonaws.com.cn", "cn-north-1"),
      ("bucket.s3.dualstack.eu-west-3.amazonaws.com", "eu-west-3"),
      ("s3-fips.us-east-2.amazonaws.com", "us-east-2"), ("s3.amazonaws.com", nil),
      ("bucket.s3.amazonaws.com", nil), ("s3-external-1.amazonaws.com", nil),
      ("bucket.s3-accelerate.amazonaws.com", nil), ("ec2.eu-central-1.amazonaws.com", nil),
      ("s3.eu-central-1.example.com", nil), ("s3.eu-central-1.amazonaws.com.example", nil),
      ("eu-central-1.amazonaws.com", nil), ("amazonaws.com", nil), ("127.0.0.1:9000", nil), ("", nil),
    ] as [(String, String?)])
  func region(host: String, region: String?) {
    #expect(S3Signature.region(ofHost: host) == region)
  }
}
