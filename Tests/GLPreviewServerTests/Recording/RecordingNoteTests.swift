// Notes of recordings: how they are read, whatever is in a file, and what follows from them for clients.
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview
@testable import Recordings
@testable import ServiceFoundation
@testable import VideoFormats

@Suite("Notes of recordings")
struct RecordingNoteTests {
  private static let reference = Size(width: 640, height: 360)
  private static let start = WallTime(sinceEpoch: .microseconds(1_796_000_000_123_456))

  private static func geometry(_ view: String, in size: Size = reference) throws -> ViewGeometry {
    let view = try ViewConfiguration(parsing: view)
    return try #require(ViewGeometry(of: view, in: size))
  }

  private static func masks(_ texts: String...) throws -> [PrivacyMask] {
    var masks: [PrivacyMask] = []
    for text in texts { masks.append(try PrivacyMask(parsing: text)) }
    return masks
  }

  private static func read(_ text: String) -> (note: RecordingNote, start: WallTime?)? {
    RecordingNote.read(Array(text.utf8))
  }

  // MARK: Bytes

  @Test(
    "a note is read as it was written",
    arguments: [
      nil, "main", "main:size=213x", "main:rotate=90,mirror=horizontal", "main:crop=333x77+13+1,width=91",
      "main:size=50x50,mode=fit", "main:size=50x51",
    ])
  func roundTrip(view: String?) throws {
    var notes = [RecordingNote(), RecordingNote(masks: [])]
    notes.append(
      RecordingNote(
        locked: Recording.LockedView(ViewConfiguration(name: "main", width: 99)),
        masks: try Self.masks(
          "40x30+5+6", "1,2,3,4:pixelate=20", "0,0 10,-5 7,300 -2,9:blur=12", "9x9+0+0:fill=#12AbfF")))
    var random = SeededGenerator(seed: 7)
    for note in notes {
      var note = note
      note.geometry = try view.map { try Self.geometry($0) }
      if view == nil { note.reference = Size(width: 91, height: 64) }
      for _ in 0..<50 {
        let time = Int.random(in: 0...4_000_000_000_000_000, using: &random)
        let start = WallTime(sinceEpoch: .microseconds(time))
        let read = try #require(RecordingNote.read(note.bytes(start: start)))
        #expect(read.note == note && read.start == start)
      }
    }
  }

  @Test("a locked view without a warp is known as in earlier versions, and a warped one is another view")
  func lockedViews() throws {
    let plain = ViewConfiguration(name: "main", width: 99)
    let text = Recording.LockedView.description(of: plain)
    #expect(text.hasSuffix("labels: [])"), "\(text)")

    var names = [Recording.LockedView(plain)]
    for words in ["yaw=1", "yaw=2", "rotate=1.5", "corners=0,0 9,0 9,9 0,9", "lens=fisheye,yaw=1"] {
      let view = try ViewConfiguration(parsing: "main:width=99,\(words)")
      #expect(Recording.LockedView.description(of: view) == "\(view)", "it has all properties of a view")
      names.append(Recording.LockedView(view))
    }
    #expect(Set(names).count == names.count)
  }

  @Test("masks that do not fit into a note become unknown, and the rest of it stays")
  func limit() throws {
    var note = RecordingNote(masks: [])
    note.geometry = try Self.geometry("main:width=320")
    var (kept, dropped) = (0, 0)
    for count in stride(from: 0, through: 900, by: 20) {
      note.masks = (0..<count).map {
        PrivacyMask(.rectangle(Rectangle(x: $0, y: 1000 + $0, width: 1000, height: 1000)))
      }
      let bytes = note.bytes(start: Self.start)
      #expect(bytes.count <= 16 << 10)
      let read = try #require(RecordingNote.read(bytes))
      #expect(read.start == Self.start && read.note.geometry == note.geometry)
      if read.note.masks == note.masks { kept = count } else { dropped += 1 }
      #expect(read.note.masks == note.masks || read.note.masks == nil)
    }
    // Each takes about 30 bytes.
    #expect(kept > 300 && dropped > 0)
  }

  @Test("a note of 16 KiB is in the file, before and after its length is known")
  func file() throws {
    let note = Array("glpreview ".utf8) + (0..<MP4Recording.longestNote - 10).map { UInt8($0 & 0x7F) }
    var mp4 = FragmentedMP4(isFile: true, note: note)
    let format = H264Format(
      sps: [0x67, 66, 0xC0, 30, 0xDA, 0x7E, 0xAD], pps: [0x68, 0xCE, 0x3C, 0x80],
      size: Size(width: 14, height: 12), encoder: nil)
    var bytes = mp4.append(
      VideoSample(
        bytes: [UInt8](repeating: 1, count: 100), isKey: true, timestamp: .start + .seconds(1),
        format: format))
    func known() -> MP4Recording? {
      MP4Recording(size: bytes.count) { Array(bytes[$0..<min($0 + $1, bytes.count)]) }
    }
    let open = try #require(known())
    #expect(open.note == note && !open.isFinished)
    let finish = MP4Recording.finish(length: mp4.length)
    bytes.replaceSubrange(open.lengthOffset..<open.lengthOffset + finish.count, with: finish)
    let finished = try #require(known())
    #expect(finished.note == note && finished.isFinished)
  }

  @Test("notes of earlier versions say only to what a view was locked")
  func earlier() throws {
    let read = try #require(Self.read("glpreview locked 0a1B"))
    #expect(read.note == RecordingNote(locked: Recording.LockedView(text: "0a1B")) && read.start == nil)
  }

  @Test(
    "bytes that are not a note are not read as one",
    arguments: [
      "", "glpreview", "glpreview ", "glpreview {", "glpreview []", "glpreview 7", "glpreview {}{}", "{}",
      #"{"masks":[]}"#, #"glpreview {"masks":"none"}"#, #"glpreview {"start":"now"}"#,
      #"glpreview {"size":[1e30,2]}"#, #"glpreview {"locked":1}"#,
    ])
  func malformed(text: String) {
    let isRead = Self.read(text) != nil
    #expect(!isRead)
  }

  @Test(
    "a part of a note that has no meaning is unknown, and the rest of it is read",
    arguments: [
      #"{}"#, #"{"later":[1,{}]}"#, #"{"masks":["dance"]}"#, #"{"masks":["9x9+0+0","9x9+0+0:dance=1"]}"#,
      #"{"start":-1}"#, #"{"start":100000000000000001}"#,
      #"{"reference":[64,36],"size":[64,36]}"#, #"{"map":[1,0,0,1,0,0],"size":[64,36]}"#,
      #"{"map":[1,0,0,1,0,0],"reference":[64],"size":[64,36]}"#,
      #"{"map":[1,0,0,1,0,0],"reference":[0,36],"size":[64,36]}"#,
      #"{"map":[1,0,0,1,0,0],"reference":[64,36],"size":[64,-36]}"#,
      #"{"map":[1,0,0,1,0,0],"reference":[64,36],"size":[64,70000]}"#,
      #"{"map":[1,0,0,1,0],"reference":[64,36],"size":[64,36]}"#,
      #"{"map":[1,0.1,0,1,0,0],"reference":[64,36],"size":[64,36]}"#,
      #"{"map":[0,0,0,1,0,0],"reference":[64,36],"size":[64,36]}"#,
      #"{"map":[0,0,0,0,0,0],"reference":[64,36],"size":[64,36]}"#,
    ])
  func partial(text: String) throws {
    let read = try #require(Self.read("glpreview \(text)"))
    #expect(read.note == RecordingNote() && read.start == nil)
    // With something beside it that has a meaning.
    let more = "glpreview \(text.dropLast())\(text == "{}" ? "" : ",")\"locked\":\"ab\"}"
    #expect(Self.read(more)?.note == RecordingNote(locked: Recording.LockedView(text: "ab")))
  }

  @Test("a note with changed bytes is read as a note that reads back the same, or not at all")
  func changed() throws {
    var note = RecordingNote(masks: try Self.masks("40x30+5+6", "0,0 10,-5 7,300 -2,9:blur=12"))
    note.geometry = try Self.geometry("main:crop=333x77+13+1,width=91,rotate=90")
    note.locked = Recording.LockedView(text: "ab")
    let bytes = note.bytes(start: Self.start)
    var random = SeededGenerator(seed: 3)
    for _ in 0..<3000 {
      var changed = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: changed.indices, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: changed[place] = UInt8.random(in: 0...255, using: &random)
        case 1: changed[place] = UInt8.random(in: 0x30...0x39, using: &random)
        default: changed.remove(at: place)
        }
      }
      guard let read = RecordingNote.read(changed) else { continue }
      #expect(RecordingNote.read(read.note.bytes(start: Self.start))?.note == read.note)
    }
  }

  // MARK: Consequences

  @Test("a recording of a warped view is hidden once its camera has another size, because masks moved in it")
  func warped() throws {
    let masks = try Self.masks("40x30+5+6")
    let warped = RecordingNote(reference: Self.reference, masks: masks)
    let half = Size(width: 320, height: 180)
    let read = try #require(RecordingNote.read(warped.bytes(start: Self.start)))
    for note in [warped, read.note] {
      #expect(note.knownReference == Self.reference)
      #expect(note.showing(under: masks, reference: Self.reference) == .whole)
      #expect(note.showing(under: masks, reference: half) == .hidden)
      #expect(note.showing(under: masks, reference: nil) == .hidden)
      #expect(note.showing(under: [], reference: half) == .whole)
    }
    let unknown = RecordingNote(reference: Self.reference)
    #expect(unknown.showing(under: masks, reference: Self.reference) == .hidden)
  }

  @Test("a recording of a locked projection is shown only under its lens, and others under every lens")
  func lenses() throws {
    let (lens, other) = (Lens(.fisheye(), fov: 190), Lens(.fisheye(), fov: 180))
    let name = StampedFileName(camera: "a", view: "main", time: Self.start, .recording)
    for (words, isOfCamera) in [("yaw=20", true), ("yaw=20,lens=fisheye", false), ("crop=9x9+0+0", false)] {
      var served = ServedView(try ViewConfiguration(parsing: "main:\(words)"))
      served.isLocked = true
      let locked = Recording.LockedView(served.view.withLens(lens))
      let recording = Recording(beginning: name, "a", "main", RecordingNote(locked: locked))
      #expect(recording.isShown(by: served, through: lens), "\(words)")
      #expect(recording.isShown(by: served, through: other) != isOfCamera, "\(words)")
      #expect(recording.isShown(by: served, through: nil) != isOfCamera, "\(words)")
    }
  }

  @Test("masks of now that were burned in leave a recording whole, and others are drawn into its pictures")
  func showing() throws {
    let (one, two) = (try Self.masks("40x30+5+6"), try Self.masks("40x30+5+6:blur=8"))
    let geometry = try Self.geometry("main:width=320")
    func showing(
      _ masks: [PrivacyMask], burned: [PrivacyMask]?, _ geometry: ViewGeometry?,
      _ reference: Size? = Self.reference
    ) -> RecordingNote.Showing {
      RecordingNote(geometry: geometry, masks: burned).showing(under: masks, reference: reference)
    }
    for known in [geometry, nil] {
      #expect(showing([], burned: nil, known) == .whole)
      #expect(showing([], burned: one, known) == .whole)
      #expect(showing(one, burned: one, known) == .whole)
      #expect(showing(one, burned: two + one, known) == .whole)
      // The size may have been another one when they were burned in.
      #expect(showing(one, burned: one, known, nil) == (known == nil ? .whole : .hidden))
    }
    #expect(showing(one, burned: [], geometry) == .masked(one, geometry))
    #expect(showing(one, burned: nil, geometry) == .masked(one, geometry))
    // Another effect is another mask.
    #expect(showing(one + two, burned: one, geometry) == .masked(two, geometry))
    // In a picture of another size, equal numbers are another place.
    let half = Size(width: 320, height: 180)
    #expect(showing(one, burned: [], nil) == .hidden)
    #expect(showing(one, burned: [], geometry, nil) == .hidden)
    #expect(showing(one, burned: [], geometry, half) == .hidden)
    #expect(showing(one, burned: one, geometry, half) == .hidden)
  }
}
