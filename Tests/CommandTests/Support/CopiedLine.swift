// A line of a page that a reader may copy, and the files that such lines name.
import Foundation
import TestSupport
import Testing

/// A command: one line, or several of which each says that it goes on.
struct CopiedLine: CustomStringConvertible {
  let page: Substring
  let text: String
  var description: String { "\(page): \(text)" }

  /// The blocks of the README and of docs/.
  static func blocks() throws -> [Page.Block] {
    try Page.current().filter { $0.path == "README.md" || $0.path.hasPrefix("docs/") }.flatMap(\.blocks)
  }

  static func all() throws -> [CopiedLine] { try blocks().flatMap(all(in:)) }

  static func all(in block: Page.Block) throws -> [CopiedLine] {
    guard block.language.isEmpty else { return [] }
    var lines: [CopiedLine] = []
    var begun = ""
    for line in block.lines {
      begun += line.trimmingPrefix("$ ")
      if line.hasSuffix("\\") || line.hasSuffix("|") {
        begun += "\n"
      } else {
        lines.append(CopiedLine(page: block.place.prefix { $0 != ":" }, text: begun))
        begun = ""
      }
    }
    return lines
  }

  /// Whether a command in it begins with these words, and it is no synopsis.
  func runs(_ words: String) -> Bool {
    let commands = text.split { "|&\n".contains($0) }
    return commands.contains { $0.drop { $0 == " " }.hasPrefix(words) } && !text.contains("[")
  }

  /// Whether it names a camera or another machine.
  var needsCamera: Bool { text.contains(#/\/dev\/video|:\/\/|rpicam-vid/#) }

  /// Whether it names a part of a picture, or the size of a file's frames; for all other lines small files do.
  var needsLargeFiles: Bool { text.contains(#/crop=|--(crop|corners|mask|input-size)/#) }

  /// Whether its answer has no end.
  private var isEndless: Bool { text.contains(#/^curl -N|\/stream /#) }

  /// Whether the other programs that it names are here.
  var isComplete: Bool {
    ["ffmpeg", "ffplay", "curl", "find", "rpicam-vid"].allSatisfy {
      !text.contains("\($0) ") || OtherProgram($0) != nil
    }
  }

  /// Runs it, with no other machine than this one: nothing listens at a camera's port, and at the service's where it is named.
  /// Times that it would wait for are shorter.
  func run(in folder: TestFolder, service port: Int = 1) async throws -> CommandResult {
    let here = text.replacing("5f1c...", with: String(repeating: "5f", count: 32))
      .replacing("--interval 60", with: "--interval 60 --frames 1")
      .replacing("?duration=10", with: "?duration=1").replacing("&after=5s", with: "&after=1s")
      .replacing("/motion/7.", with: "/motion/1.")
      .replacing(#/(https?|rtsps?):\/\/([^@\/\s']*@)?[\w.]+(:\d+)?/#) {
        "\($0.1)://\($0.2 ?? "")127.0.0.1:\(port)"
      }
    let curl = here.replacing(
      #/^curl /#, with: "curl -sS \(isEndless ? "--max-time 3" : "") -w '%{stdout}%{http_code}' ")
    let command = try URL(filePath: RunningCommand.executable).deletingLastPathComponent().path
    let shell = try #require(OtherProgram("sh"))
    return try await shell.run(["-c", "PATH=\(command):$PATH; \(curl)"], in: folder)
  }
}

extension Page.Block {
  /// Whether it is a configuration of the service, or a part of one; pages also have those of other programs.
  var isConfiguration: Bool {
    guard language.isEmpty || language == "yaml", let first = lines.first else { return false }
    return first.contains(#/^([a-z-]+:|# glpreview.yaml)/#)
      && !first.contains(#/^(automation|type|server_name|retry|event|door):/#)
  }
}

enum CopiedFiles {
  /// Makes the files that the lines with `glpreview render` name, with pictures of 16:9.
  static func make(in folder: TestFolder, width: Int) async throws {
    let height = width * 9 / 16
    func draw(_ arguments: String...) async throws {
      let result = try await folder.run(["render"] + arguments)
      try #require(result.status == 0, "\(result.errors)")
    }
    let picture = "pattern:counter,size=\(width)x\(height),fps=25"
    try await draw(picture, "-o", "photo.jpg")
    try await draw(picture, "-o", "hall.jpg")
    try await draw(picture, "--frames", "26", "-o", "clip.mp4")
    try await draw(picture, "--frames", "2", "-o", "door.y4m")
    try folder.write(try folder.bytes(of: "photo.jpg") + folder.bytes(of: "hall.jpg"), to: "camera.mjpeg")
    try folder.write([UInt8](repeating: 128, count: width * height * 2), to: "frame.raw")
    try folder.makeFolder("album")
    for name in ["a", "b"] { try folder.write(folder.bytes(of: "photo.jpg"), to: "album/\(name).jpg") }
  }

  /// What a WHEP player offers.
  static let offer = Array(
    """
    v=0
    o=- 1 2 IN IP4 127.0.0.1
    s=-
    t=0 0
    a=group:BUNDLE 0
    m=video 9 UDP/TLS/RTP/SAVPF 102
    c=IN IP4 0.0.0.0
    a=ice-ufrag:EsAw
    a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1
    a=fingerprint:sha-256 \(Array(repeating: "5F", count: 32).joined(separator: ":"))
    a=setup:actpass
    a=mid:0
    a=recvonly
    a=rtcp-mux
    a=rtpmap:102 H264/90000
    a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f

    """.replacing("\n", with: "\r\n").utf8)
}
