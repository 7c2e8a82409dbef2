// What comes from a queue of jobs: whoever may publish there decides it.
import GLPreview

@testable import glpreview_cli

extension FuzzTarget {
  /// A job.
  static let job = FuzzTarget(
    name: "job", longest: 1024,
    words: [
      #""version":1"#, #""id":""#, #""batch":""#, #""source":""#, #""words":["#, #""to":""#, #""attempts":5"#,
      #""index":7"#,
      "--view", "--size=9x", "--mask", "--help", "--generate-completion-script=bash", "{name}", "{view}",
      "{index:05}", "../",
      "http://host:9/", "reply:glp.replies.x", "reply:_INBOX.x", ".jpg", ".png", "\\n", "\\u0000", "{", "}",
      "[", "]", ",",
    ],
    seeds: {
      [
        #"{"version":1,"id":"i","batch":"b","source":"a/street.jpg","to":"{name}-{view}.jpg","words":["--view","a:size=8x","--view=b:size=4x"],"index":3}"#,
        #"{"version":1,"id":"i","batch":"b","source":"http://h/a.jpg","to":"http://host:9/b/{name}.png?k=1","attempts":2}"#,
        #"{"version":1,"id":"i","batch":"b","source":"a\nb.jpg","to":"reply:glp.replies.me","words":["--help"]}"#,
        #"{"version":1,"id":"i","batch":"b","source":"a.jpg","to":"a/../{name}.jpg"}"#,
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      let job: Job
      do throws(JobFailure) {
        job = try Job(parsing: input)
      } catch {
        return try check(error)
      }
      guard let json = try? job.json, let again = try? Job(parsing: json), again == job else {
        throw FuzzFault("a job is not read back as it is")
      }
      do {
        let options = try job.options()
        let same = try JobOptions.parsed(options.words).words
        try must(same == options.words, "words \(options.words) are read as \(same)")
        let views = try options.viewOptions.views()
        let destination = try JobDestination(job, options, views: views, prefix: "glp")
        try check(destination, views)
      } catch let fault as FuzzFault {
        throw fault
      } catch {
        try check(JobFailure(error))
      }
    })

  /// A reason fits a line, and a job that is no job is not tried again.
  private static func check(_ failure: JobFailure) throws(FuzzFault) {
    let text = failure.description
    try must(
      !text.isEmpty && text == text.onOneLine && text.unicodeScalars.count <= 1000, "the reason '\(text)'")
    try must(!failure.isTemporary, "'\(text)' is tried again")
  }

  private static func check(_ destination: JobDestination, _ views: [ViewConfiguration]) throws(FuzzFault) {
    let names = destination.names(views)
    try must(names.count == views.count, "\(names.count) names of \(views.count) views")
    for name in names {
      switch destination {
      case .files:
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isInside = !parts.contains { ["", ".", ".."].contains($0) } && name == name.onOneLine
        try must(isInside && parts.count <= 33, "a file '\(name)'")
      case .objects: try must(JobDestination.isAddress(name), "an object '\(name)'")
      case .replies:
        let isReply = name.hasPrefix("glp.replies.") || name.hasPrefix("_INBOX.")
        try must(isReply && !name.contains { " *>\r\n".contains($0) }, "a reply to '\(name)'")
      }
    }
  }

  /// An address, asked of a worker that may connect to `one`, `two:8080` and `[::1]:9`.
  static let hostList = FuzzTarget(
    name: "host-list", longest: 128,
    words: [
      "http://", "https://", "one", "two", ":8080", "[::1]", ":9", "@", "/", "?", "#", "\\", "%6f",
      "evil.example", ".", "ONE",
    ],
    seeds: {
      [
        "http://one/a", "https://two:8080/b?c", "http://[::1]:9/", "http://one@evil.example/",
        "http://evil.example#@one/",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      let address = String(decoding: input, as: UTF8.self)
      let hosts = HostList(["one", "two:8080", "[::1]:9"])
      guard hosts.allows(address) else { return }
      let rest = address.drop { $0 != "/" }.dropFirst(2)
      let authority = rest.prefix { !"/?#".contains($0) }.lowercased()
      let server = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
      // A port may begin with zeros.
      let plain = server.replacing(#/:0+(?<port>[1-9])/#) { ":\($0.port)" }
      let isNamed = plain == "one" || plain.hasPrefix("one:") || ["two:8080", "[::1]:9"].contains(plain)
      try must(JobDestination.isAddress(address) && isNamed, "'\(address)' is allowed")
      try must(HostList(["any"]).allows(address) && !HostList([]).allows(address), "'\(address)' of no list")
    })
}
