import Foundation
import GLPreview
import Testing

@testable import glpreview_cli

@Suite("Jobs in the queue")
struct JobTests {
  private func job(_ text: String) throws -> Job { try Job(parsing: Array(text.utf8)) }

  private func destination(_ to: String, _ words: [String] = [], source: String = "a/street.jpg") throws
    -> JobDestination
  {
    let options = try JobOptions.parsed(words)
    let job = Job(id: "i", batch: "b", source: source, index: 7, words: words, to: to)
    return try JobDestination(job, options, views: options.viewOptions.views(), prefix: "glp")
  }

  @Test("a job survives encoding and parsing, and unknown keys are ignored")
  func roundTrip() throws {
    let job = Job(
      id: "i", batch: "b", source: "a.jpg", index: 3, words: ["--size=8x"], to: "{name}.jpg", attempts: 2)
    #expect(try Job(parsing: job.json) == job)
    let text = #"{"version":1,"id":"i","batch":"b","source":"a.jpg","to":"a.png","later":{"x":[1]}}"#
    #expect(try self.job(text) == Job.like(id: "i"))
  }

  /// A valid job but for one key.
  private static func text(_ id: String = "i", batch: String = "b", source: String = "a", _ more: String = "")
    -> String
  {
    #"{"version":1,"id":"\#(id)","batch":"\#(batch)","source":"\#(source)","to":"a.jpg"\#(more)}"#
  }

  private static let noJobs: [String] = [
    "", "{}", "[]", "null", "{", text().replacing(":1,", with: ":2,"), text("i.j"), text("_"),
    text(batch: "*"),
    text(batch: ">"), text(batch: "b\\r\\nPUB"), text(source: ""), text(source: "a\\u0000b"),
    text("i", #","attempts":0"#), text("i", #","index":-1"#),
  ]

  @Test("malformed or invalid job JSON is rejected", arguments: noJobs)
  func refused(text: String) { #expect(throws: JobFailure.self) { try job(text) } }

  @Test("minimal valid job JSON is accepted")
  func accepted() throws { #expect(try job(Self.text()).id == "i") }

  @Test("damaged job JSON is rejected, or parsed with a valid id and batch")
  func damaged() throws {
    let whole = try Job.like(id: "i").json
    for place in whole.indices {
      for byte in [0, 0x22, 0x5C, 0x7B, 0x80, 0xFF] as [UInt8] {
        var bytes = whole
        bytes[place] = byte
        if let job = try? Job(parsing: bytes) { #expect(Job.isName(job.id) && Job.isName(job.batch)) }
        _ = try? Job(parsing: Array(whole[..<place]))
      }
    }
  }

  @Test("job options survive conversion to arguments and parsing")
  func words() throws {
    let given = [
      "--view", "a:size=8x,crop=4x4+0+0", "--view", "b:size=4x", "--quality", "70", "--subsampling", "444",
      "--max-bytes", "9000", "--format", "png", "--mask", "1x1+0+0", "--reference", "8x8", "--decode",
      "exact", "--exif",
      "--max-megapixels", "2.5", "--matrix", "bt709", "--lens", "fisheye fov 190",
    ]
    let words = try JobOptions.parsed(given).words

    let again = try JobOptions.parsed(words)

    #expect(again.words == words)
    #expect(again.encodingOptions.quality == 70 && again.encodingOptions.exif)
    #expect(again.inputOptions.mask == ["1x1+0+0"])
    #expect(again.inputOptions.lens == ["fisheye fov 190"])
    #expect(try again.viewOptions.views().map(\.name) == ["a", "b"])
    let single = try JobOptions.parsed(["--rotate", "-90", "--linear=true", "--label=-x -", "--yaw", "-20.5"])
      .words
    #expect(single == ["--yaw=-20.5", "--rotate=-90", "--linear=true", "--label=-x -"])
    #expect(try JobOptions.parsed(single).words == single)
  }

  @Test(
    "an argument that jobs do not accept is rejected with a one-line error",
    arguments: [
      "--help", "--fps=3", "a.jpg", "--gpu=1", "--help-hidden", "--generate-completion-script=bash",
      "--experimental-dump-help", "--size=" + String(repeating: "9", count: 50_000),
    ])
  func unknownWords(word: String) {
    let error = #expect(throws: (any Error).self) { try JobOptions.parsed([word]).viewOptions.views() }
    let description = error.map { JobFailure($0).description } ?? ""
    #expect((1...1000).contains(description.unicodeScalars.count) && !description.contains("\n"))
  }

  @Test("destination placeholders are replaced, and percent-encoded in URLs")
  func names() throws {
    let views = [ViewConfiguration()]
    #expect(try destination("x/{name}-{index:03}.jpg").names(views) == ["x/street-007.jpg"])
    #expect(
      try destination("http://host:9/b/{name}.png?k=1", source: "a b.jpg").names(views)
        == ["http://host:9/b/a%20b.png?k=1"])
    #expect(try destination("reply:glp.replies.me").format == .jpeg)
  }

  @Test(
    "a destination outside the folder, in an unknown format or on a reserved subject is rejected",
    arguments: [
      "../a.jpg", "/etc/a.jpg", "a/../../b.jpg", "a//b.jpg", "./a.jpg", "-", "null:", "null:jpg", "a.mp4",
      "a.txt",
      "reply:$JS.API.STREAM.DELETE.X", "reply:glp.jobs.todo.b", "reply:_INBOX.*", "reply:glp.replies.a b",
      "a\n.jpg", "a\u{85}b.jpg",
      "http://user:password@host/a.jpg", "http://{name}/a.jpg", "http:///a.jpg", "https://host/a.gif",
    ])
  func refusedDestinations(to: String) { #expect(throws: (any Error).self) { try destination(to) } }

  @Test("a destination more than 32 folders deep or with a control character is rejected")
  func depth() throws {
    let folders = String(repeating: "a/", count: 32)
    #expect(try destination(folders + "b.jpg").names([ViewConfiguration()]) == [folders + "b.jpg"])
    #expect(throws: UsageError.self) { try destination("a/" + folders + "b.jpg") }
    #expect(throws: UsageError.self) { try destination("{name}.jpg", source: "a\nb.jpg") }
  }

  @Test("a host list matches whole host names, and the port where one is given")
  func hosts() {
    let hosts = HostList(["one", "two:8080", "[::1]:9"])
    for address in ["http://one/a", "https://ONE:9/a", "http://two:8080/", "http://[::1]:9/"] {
      #expect(hosts.allows(address), "\(address)")
    }
    for address in [
      "http://two/", "http://onetwo/", "http://one.evil/", "http://evil/?http://one/", "http://one@evil/",
      "ftp://one/", "one", "http://[::1]:8/", "",
    ] { #expect(!hosts.allows(address), "\(address)") }
    #expect(HostList(["any"]).allows("http://x/"))
  }

  @Test("retry delays double from 1 s up to 30 s")
  func pauses() {
    #expect([1, 2, 3, 99].map { Worker.pause(after: $0, jitter: 1) } == [1, 2, 4, 30].map { .seconds($0) })
  }
}

extension Job {
  fileprivate static func like(id: String) -> Job {
    var job = Job(id: id, batch: "b", source: "a.jpg", to: "a.png")
    job.words = nil
    return job
  }
}
