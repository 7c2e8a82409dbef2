// The list of recordings: sorted, by camera and time, before anything of old files is read.
import Testing

@testable import GLPreview
@testable import Recordings
@testable import ServiceFoundation

@Suite("Catalogue of recordings")
struct RecordingCatalogueTests {
  private static func name(_ second: Int, _ camera: String = "a") -> StampedFileName {
    StampedFileName(
      camera: camera, view: "main", time: WallTime(sinceEpoch: .seconds(1_000_000 + second)), .recording)
  }

  private static func time(_ second: Double) -> WallTime {
    WallTime(sinceEpoch: .seconds(1_000_000) + .seconds(second))
  }

  /// Of camera `a` a file each 10 s, of `b` two.
  private static func catalogue() -> (
    RecordingCatalogue, newest: [StampedFileName], others: [StampedFileName]
  ) {
    var catalogue = RecordingCatalogue()
    let names = (0..<6).map { name($0 * 10) } + [name(15, "b"), name(35, "b")]
    let (newest, others) = catalogue.add(names.shuffled().map { RetainedFiles.File(name: $0, bytes: 5) })
    return (catalogue, newest, others)
  }

  @Test(
    "of earlier files, the newest two of each view are to be read first and the others later"
  )
  func earlier() {
    let (catalogue, newest, others) = Self.catalogue()
    #expect(newest == [Self.name(50), Self.name(40), Self.name(35, "b"), Self.name(15, "b")])
    let old = [0, 10, 20, 30].map { Self.name($0) }
    #expect(others == old)
    let known = catalogue.recordings.filter { !$0.isUnknown }
    #expect(known.isEmpty)
    let names = catalogue.recordings.map(\.name)
    #expect(names == names.sorted())
  }

  @Test("a time span lists overlapping recordings, and a view's last earlier one if its end is unknown")
  func spans() {
    var (catalogue, _, _) = Self.catalogue()
    func list(_ from: Double?, _ to: Double?, of camera: String? = nil, limit: Int = 100) -> [StampedFileName]
    {
      catalogue.list(of: camera, from: from.map(Self.time), to: to.map(Self.time), limit: limit).map(\.name)
    }
    #expect(list(nil, nil, limit: 2) == [Self.name(50), Self.name(40)])
    #expect(list(nil, nil, of: "b") == [Self.name(35, "b"), Self.name(15, "b")])
    #expect(list(nil, 20) == [Self.name(20), Self.name(15, "b"), Self.name(10), Self.name(0)])
    #expect(list(42, nil) == [Self.name(50), Self.name(40), Self.name(35, "b")])
    #expect(list(22, 30) == [Self.name(30), Self.name(20), Self.name(15, "b")])
    catalogue[Self.name(20)]?.duration = .seconds(1)
    catalogue[Self.name(15, "b")]?.duration = .seconds(9)
    #expect(list(22, 30) == [Self.name(30), Self.name(15, "b")])
    #expect(list(30, 22) == [])
    // No file is as long as this.
    #expect(list(10 * 86_400, nil) == [])
  }

  @Test("recordings are found, added and removed by name")
  func names() {
    var (catalogue, _, _) = Self.catalogue()
    #expect(catalogue[Self.name(11)] == nil)
    catalogue[Self.name(11)] = Recording(beginning: Self.name(11), "a", "main")
    #expect(catalogue[Self.name(11)]?.isOpen == true && catalogue.recordings.count == 9)
    catalogue.remove([Self.name(0), Self.name(12)])
    #expect(catalogue[Self.name(0)] == nil && catalogue.recordings.count == 8)
    catalogue.remove((0..<20).map { Self.name($0) })
    let left = [15, 20, 30, 35, 40, 50].map { Self.name($0, [15, 35].contains($0) ? "b" : "a") }
    #expect(catalogue.recordings.map(\.name) == left)
    let counts = ["a", "b", "c"].map { catalogue.count(of: $0) }
    #expect(counts == [4, 2, 0])
    catalogue[Self.name(60)] = Recording(beginning: Self.name(60), "a", "main")
    catalogue.removeAllWritten()
    #expect(catalogue.recordings.map(\.name) == [Self.name(60)])
    #expect(catalogue.count(of: "a") == 1 && catalogue.count(of: "b") == 0)
    #expect(catalogue.list(of: "b", from: nil, to: nil, limit: 9) == [])
    let around = catalogue.around(Self.time(20), of: "b") { _ in true }
    #expect(around.before == nil && around.after == nil)
  }
}
