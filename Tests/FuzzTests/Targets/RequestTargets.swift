// Small words of requests: parts of files, names of files, moments, hosts, and what a camera is watched for.
import PreviewCore

@testable import GLPreview
@testable import Motion
@testable import ServiceCore
@testable import ServiceFoundation

extension FuzzTarget {
  /// The field `Range`, in a second line the size of the file.
  static let byteRange = FuzzTarget(
    name: "byte-range", longest: 128,
    words: [
      "bytes=", "BYTES=", "-", ",", "0", "99", "9223372036854775807", "999999999999999999", " ", "\n100",
      "lines=",
    ],
    seeds: {
      [
        "bytes=0-0\n100", "bytes=-5\n3", "bytes=5-\n0", "bytes=7-3\n9", "bytes=0-1,3-4\n9",
        "bytes= 1 - 2 \n99",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let field = input.line()
      // Numbers of more digits than files have are no ranges.
      let size = min(max(Int(input.line()) ?? 100, 0), 1 << 59)
      switch ByteRange(field, of: size) {
      case .part(let part):
        let isInside = part.lowerBound >= 0 && part.lowerBound < part.upperBound && part.upperBound <= size
        try must(isInside, "\(part) of \(size) bytes")
        let again = ByteRange("bytes=\(part.lowerBound)-\(part.upperBound - 1)", of: size)
        try must(again == .part(part), "\(part) is not read back")
      case .unsatisfiable, .whole:
        try must(
          size == 0 || ByteRange("bytes=0-\(size - 1)", of: size) == .part(0..<size), "nothing is whole")
      }
    })

  /// A folder and the name of a file in it. The same as names of a camera and of a view.
  static let stampedName = FuzzTarget(
    name: "stamped-name", longest: 192,
    words: [
      "2026-11-21T20-15-30.123Z", "-main.jpg", "-main.mp4", "2026-02-30T25-61-61.999Z", "/", "..", "%2F",
      "\u{301}", "\n",
      "9999-12-31T23-59-59.999Z", "0000-00-00T00-00-00.000Z",
    ],
    seeds: {
      [
        "door\n2026-11-21T20-15-30.123Z-main.jpg", "door\n2026-11-21T20-15-30.123Z-main-2.mp4",
        "d\n0000-00-00T00-00-00.000Z-.jpg", "..\n2026-11-21T20-15-30.123Z/../x.mp4",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let (camera, file) = (input.line(), input.line())
      for kind in [StampedFileName.Kind.snapshot, .recording] {
        let made = StampedFileName(camera: camera, view: file, time: WallTime(sinceEpoch: .seconds(1)), kind)
        for part in [made.camera, made.file] {
          let isPlain = !part.isEmpty && !part.hasPrefix(".") && part.utf8.count <= 256
          try must(
            isPlain && part.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F },
            "'\(part)' is no file's name")
        }
        let again = StampedFileName(camera: made.camera, file: made.file, kind)
        try must(again == made, "'\(made.file)' is not read back")
        guard let name = StampedFileName(camera: camera, file: file, kind) else { continue }
        try must(!name.file.utf8.contains { $0 == 0x2F || $0 < 0x20 }, "'\(name.file)' leads elsewhere")
        try must(name.file == file && name.stamp.utf8.count == 24, "'\(file)' has the time '\(name.stamp)'")
        try must(name.numbered(2).hasSuffix("-2" + kind.rawValue), "'\(name.numbered(2))'")
        // A day or a second too many is the next; before 1970 calendars differ.
        guard let time = name.time, time.sinceEpoch >= .zero else { continue }
        let same = StampedFileName(camera: camera, view: "main", time: time, kind)
        try must(same.time == time, "\(time) is read as \(same.time.map { "\($0)" } ?? "none")")
      }
    })

  /// The moment `at` of a request, in further lines `before` and `within`.
  static let moment = FuzzTarget(
    name: "moment", longest: 96,
    words: [
      "-", "2s", "500ms", "1h", "7d", "1700000000.123456", "1e11", "nan", "inf", "-0", "0x1p3", "\n",
      "99999999999999999999",
    ],
    seeds: { ["-2s\n3s\n500ms", "1700000000.5\n1h", "1e11\n0s", "-500ms"].inputs },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let now = CaptureInstant(sinceStart: .seconds(1_000_000))
      if let moment = try? SnapshotMoment(parsing: input.line(), key: "at") {
        let instant = moment.instant(at: now, delay: .seconds(1))
        switch moment {
        case .before(let time):
          try must(time > .zero && instant == now - time - .seconds(1), "\(time) before is \(instant)")
        case .at(let time):
          let seconds = time.sinceEpoch / .seconds(1)
          try must((0...1e11).contains(seconds), "\(seconds) s since 1970")
        }
      }
      if let time = try? SnapshotMoment.duration(input.line(), key: "before") {
        try must(time > .zero && now - time < now && now + time > now, "\(time) is no time")
      }
      let span = try? SnapshotMoment.span(.sharpest, within: input.line())
      try must((span ?? .seconds(1)) > .zero, "a choice from nothing")
    })

  /// The field `Host`, and in a second line `Origin`.
  static let hostName = FuzzTarget(
    name: "host-name", longest: 128,
    words: [
      "127.0.0.1", "[::1]", ":8080", "localhost", ".localhost", "door.local", "%25eth0", "http://",
      "https://", ":443", ".", "\n",
    ],
    seeds: {
      [
        "localhost:8080\nhttp://localhost:8080", "[fe80::1%25eth0]:80\nhttps://[fe80::1]:443",
        "DOOR.local.\nnull",
        "127.0.0.1\nhttps://evil.example",
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      var input = FuzzInput(input)
      let (field, origin) = (input.line(), RequestOrigin(input.line()))
      guard let host = HostName(field) else { return }
      try must(!host.text.isEmpty && host.text == host.text.lowercased(), "a host '\(host.text)'")
      let isPlain = host.text.utf8.allSatisfy {
        (0x21...0x7E).contains($0) && !"/?#@\\[]".utf8.contains($0)
      }
      try must(isPlain, "'\(host.text)' is no host")
      let again = HostName(host.text.contains(":") || host.text.contains("%") ? "[\(host.text)]" : host.text)
      try must(again?.text == host.text, "'\(host.text)' is not read back")
      let rule = HostRule(.host("127.0.0.1", port: 80), machine: "door")
      let isAllowed = rule.allows(host, by: AccessConfiguration())
      let isKnown =
        host.isAddress || ["localhost", "door", "door.local", "127.0.0.1"].contains(host.text)
        || host.text.hasSuffix(".localhost")
      var open = AccessConfiguration()
      open.allowedHosts = ["*"]
      try must(
        isAllowed == isKnown && rule.allows(host, by: open), "'\(host.text)' is allowed: \(isAllowed)")
      try must(!origin.isAt("") && !RequestOrigin("null").isAt(field), "an origin is at no host")
    })

  /// The body of a PATCH of what a camera is watched for.
  static let motionChange = FuzzTarget(
    name: "motion-change", longest: 512,
    words: [
      #""sensitivity":"#, #""zones":"#, #""min-size":"#, #""min-duration":"#, #""cool-down":"#, "null", "[",
      "]",
      #""gate=0,0.5,0.4,0.5""#, "1e308", "-1", "\"2s\"", "{", "}", ",",
    ],
    seeds: {
      [
        #"{"sensitivity": 60, "zones": ["gate=0,0.5,0.4,0.5"]}"#,
        #"{"min-size": 0.01, "min-duration": "2s"}"#,
        #"{"cool-down": null, "zones": null}"#, #"{"zones": []}"#, #"{"sensitivity": [1]}"#,
      ].inputs
    },
    body: .atOnce { (input) throws(FuzzFault) in
      let configured = MotionSettings()
      guard let change = try? MotionChange(json: input),
        let changed = try? change.applied(to: configured, configured)
      else { return }
      try must((1...100).contains(changed.sensitivity), "a sensitivity of \(changed.sensitivity)")
      try must(MotionSettings.minimumSizes.contains(changed.minimumSize), "a size of \(changed.minimumSize)")
      try must(changed.minimumDuration >= .zero && changed.coolDown >= .zero, "a time below 0")
      try must(changed.zones.count <= MotionSettings.mostZones, "\(changed.zones.count) zones")
      try must(Set(changed.zones.map(\.name)).count == changed.zones.count, "two zones of one name")
      for zone in changed.zones {
        guard let again = try? MotionZone(parsing: zone.description), again == zone else {
          throw FuzzFault("'\(zone)' is not read back as it is")
        }
      }
    })
}
