// Cameras that pour out bytes: nothing else stands still, memory is bounded, and the source is closed whatever they do.
#if HTTP
  import Foundation
  import PreviewCore
  import Synchronization
  import TestSupport
  import Testing

  @testable import GLPreview

  @Suite("HTTP servers that send endless data", .timeLimit(.minutes(15)))
  struct HTTPFloodTests {
    /// A part that never ends; of a picture, or of nothing.
    private func endlessPart(_ start: [UInt8]) throws -> HTTPTestServer {
      try HTTPTestServer { peer in
        guard peer.request() != nil, peer.send(multipartHead) else { return }
        peer.send("--frame\r\nContent-Type: image/jpeg\r\n\r\n")
        peer.send(start)
        let block = [UInt8](repeating: 0x11, count: 64 << 10)
        while peer.send(block) {}
      }
    }

    @Test("more endless responses than cores do not block Swift's threads, and close ends them")
    func floods() async throws {
      let servers = try (0..<ProcessInfo.processInfo.activeProcessorCount + 2).map { _ in
        try endlessPart(Array(smallJPEG().prefix(400)))
      }
      var options = httpOptions()
      options.maximumPictureBytes = 1 << 20
      var sources: [LiveSource] = []
      for server in servers { sources.append(try await openHTTP(server.url(), options)) }

      // All of them are in the midst of it: each has let a picture go that had no end.
      for source in sources {
        await until { source.status.counters.damaged != 0 }
        #expect(source.status.lastDamage == "a picture is larger than 1 MiB")
      }

      for source in sources { await source.close() }
      #expect(sources.allSatisfy { $0.status.state == .idle })
      for server in servers {
        await until { server.openCount == 0 }
      }
    }

    @Test("a connection that delivers bytes but no picture times out")
    func stall() async throws {
      let server = try endlessPart([])
      let source = try await openHTTP(
        server.url(), httpOptions(stalls: .milliseconds(100), reconnects: .milliseconds(300), givesUp: .zero))
      let error = await #expect(throws: SourceError.self) { try await source.nextFrame() }
      #expect(error?.reason == "no picture for 0.3 s")
      await source.close()
    }

    @Test("a partial picture counts against the memory budget; a full budget throws and frees it")
    func partialPictures() async throws {
      let budget = MemoryBudget(capacity: 4 << 20)
      let server = try endlessPart(Array(try smallJPEG().prefix(400)))
      var options = httpOptions(givesUp: .zero)
      options.memory = FramePool(budget: budget)

      let source = try await openHTTP(server.url(), options)
      let error = await #expect(throws: SourceError.self) { try await source.nextFrame() }

      #expect(error?.reason.contains("the memory budget is used up") == true)
      await source.close()
      #expect(budget.peak <= budget.capacity)
      await until { budget.reserved == 0 }
    }
  }
#endif
