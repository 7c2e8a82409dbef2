// Pipes and commands as the library has them: what they give back, and when.
import Foundation
import PreviewCore
import TestSupport
import Testing

@testable import GLPreview

@Suite("PipeDevice", .timeLimit(.minutes(15)))
struct PipeDeviceTests {
  private static let y4m = Array("YUV4MPEG2 W2 H2 Cmono\nFRAME\n\u{1}\u{2}\u{3}\u{4}".utf8)

  @Test("closing a source closes its FIFO, in every state of the writer")
  func descriptors() async throws {
    try await withFile([]) { path in
      let fifo = path + ".fifo"
      try #require(unsafe mkfifo(fifo, 0o600) == 0)

      for round in 0..<20 {
        let source = try await SourceLocator(fifo).open()
        // Its writer may not be there yet, may have written, may be gone.
        if round % 3 > 0 {
          Thread.detachNewThread { try? Data(Self.y4m).write(to: URL(filePath: fifo)) }
          #expect(try await source.nextFrame()?.bytes == [1, 2, 3, 4])
        }
        if round % 3 > 1, let live = source as? LiveSource {
          _ = try #require(await live.status { $0.state == .lost })
        }

        await source.close()
        #expect(try await source.nextFrame() == nil)
        // `close` leaves a machine that is too slow for its second to itself.
        try await until { try descriptors(of: fifo) == 0 }
      }
    }
  }

  @Test("a FIFO source waits for the next writer, and its sequence numbers continue")
  func nextWriter() async throws {
    try await withFile([]) { path in
      let fifo = path + ".fifo"
      try #require(unsafe mkfifo(fifo, 0o600) == 0)
      let source = try await SourceLocator(fifo).open()

      for sequence in 0..<3 {
        // Who writes before the last one is seen to be gone writes into the same stream.
        if sequence > 0, let live = source as? LiveSource {
          _ = try #require(await live.status { $0.state == .lost })
        }
        Thread.detachNewThread { try? Data(Self.y4m).write(to: URL(filePath: fifo)) }
        #expect(try await source.nextFrame()?.sequence == sequence)
      }
      await source.close()
    }
  }

  @Test("a command's output may begin mid-picture and be a multipart stream")
  func multipartCommand() async throws {
    let jpeg = try smallJPEG()
    let part = Array("--frame\r\nContent-Type: image/jpeg\r\n\r\n".utf8) + jpeg + [13, 10]
    try await withFile(jpeg.dropFirst(jpeg.count / 2) + part + part) { path in
      var options = SourceOptions()
      options.live = .patient(.every(maximumBytes: 1 << 20), givesUpAfter: .zero)
      let source = try await SourceLocator("exec:cat '\(path)'").open(options)

      for sequence in 0..<2 { #expect(try await source.nextFrame()?.sequence == sequence) }
      await source.close()
    }
  }

  @Test("closing a source ends a command that writes nothing")
  func silentCommand() async throws {
    try await withFile([]) { path in
      var options = SourceOptions()
      options.live = .patient()
      let source = try await SourceLocator("exec:echo $$ > '\(path)'; exec sleep 1000").open(options)
      let live = try #require(source as? LiveSource)

      var id: pid_t?
      try await until {
        id = pid_t((try String(contentsOfFile: path, encoding: .utf8)).trimmingCharacters(in: .newlines))
        return id != nil
      }
      #expect(live.status.state == .opening)

      await source.close()
      let process = try #require(id)
      await until { kill(process, 0) != 0 }
    }
  }

  /// How many descriptors of this process lead to `path`.
  private func descriptors(of path: String) throws -> Int {
    let folder = "/proc/self/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).count { name in
      // What other tests close meanwhile leads nowhere.
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")) == path
    }
  }
}
