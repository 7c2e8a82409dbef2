// Cameras whose answers are not what they should be, and whose pictures are there all the same.
#if HTTP
  import PreviewCore
  import TestSupport
  import Testing

  @testable import GLPreview

  @Suite("HTTP cameras with non-standard responses", .timeLimit(.minutes(15)))
  struct HTTPForgivenessTests {
    /// Answers a request for `/N` with the bytes of case N, and closes the connection.
    private func server(_ answers: [[UInt8]]) throws -> HTTPTestServer {
      try HTTPTestServer { peer in
        guard let number = peer.request().flatMap({ Int($0.target.dropFirst()) }) else { return }
        peer.send(answers[number])
      }
    }

    private func firstFrame(_ url: String) async throws -> Frame? {
      var options = httpOptions(givesUp: .zero, every: true)
      // Asks once: the next picture is due in a thousand seconds.
      options.demand.framesPerSecond = 0.001
      let source = try await openHTTP(url, options)
      do {
        let frame = try await source.nextFrame()
        await source.close()
        return frame
      } catch {
        await source.close()
        throw error
      }
    }

    /// Expects a picture of each answer.
    private func expectPictures(_ answers: [(name: String, bytes: [UInt8])]) async throws {
      let server = try server(answers.map(\.bytes))
      for (number, answer) in answers.enumerated() {
        do {
          let frame = try await firstFrame(server.url("/\(number)"))
          #expect(frame?.format.size == Size(width: 24, height: 16), "\(answer.name)")
        } catch {
          Issue.record("\(answer.name): \(error)")
        }
      }
    }

    private func answer(_ fields: String, _ body: [UInt8]) -> [UInt8] {
      Array("HTTP/1.1 200 OK\r\nConnection: close\r\n\(fields)\r\n\r\n".utf8) + body
    }

    @Test("a response with a non-standard HTTP head is read")
    func heads() async throws {
      let jpeg = try smallJPEG()
      try await expectPictures(OddResponse.all.map { ($0.manner, $0.bytes(jpeg)) })
    }

    @Test("a picture's format is detected by its bytes, whatever its Content-Type")
    func types() async throws {
      let jpeg = try smallJPEG()
      let png = TestPNG(width: 24, height: 16, type: .rgb, depth: 8) { x, y in [x, y, 0] }.bytes
      let types = [
        "text/html", "image/png", "application/octetstream", "application/force-download", "image/*", "*/*",
        "video/mp4",
        "unknown/unknown", "image/jpeg;charset=UTF-8", "multipart/x-mixed-replace;boundary=x", "",
      ]
      var answers = types.map { ($0, answer("Content-Type: \($0)\r\nContent-Length: \(jpeg.count)", jpeg)) }
      for type in ["image/png", "image/jpeg", "text/plain", "application/octet-stream"] {
        answers.append(("PNG as \(type)", answer("Content-Type: \(type)", png)))
      }
      let parts =
        Array("--frame\r\nContent-Type: image/png\r\n\r\n".utf8) + png + Array("\r\n--frame\r\n".utf8)
      answers.append(
        ("a part of PNG", answer("Content-Type: multipart/x-mixed-replace;boundary=frame", parts)))
      try await expectPictures(answers)
    }

    @Test("stray bytes or doubled start markers before a JPEG are ignored in stills and in streams")
    func starts() async throws {
      let jpeg = try smallJPEG()
      let starts: [(String, [UInt8])] = [
        ("a line end", [13, 10] + jpeg), ("the start twice", [0xFF, 0xD8] + jpeg),
        ("the start three times", [0xFF, 0xD8, 0xFF, 0xD8] + jpeg),
        ("other bytes", [0, 1, 0xFF, 0xFF] + jpeg),
      ]
      var answers: [(String, [UInt8])] = []
      for (name, bytes) in starts {
        answers.append(("\(name), a still", answer("Content-Type: image/jpeg", bytes)))
        answers.append(("\(name), of no type", answer("Content-Length: \(bytes.count)", bytes)))
        let stream = multipartPart(bytes) + Array("--frame\r\n".utf8)
        answers.append(
          ("\(name), a part", answer("Content-Type: multipart/x-mixed-replace;boundary=frame", stream)))
      }
      try await expectPictures(answers)
    }

    @Test(
      "a body is decompressed by its bytes, whatever Content-Encoding and Content-Length say"
    )
    func codings() async throws {
      let jpeg = try smallJPEG()
      let raw = gzip(jpeg).dropFirst(10).dropLast(8)
      try await expectPictures(
        [
          ("x-gzip", gzip(jpeg)), ("gzip", jpeg), ("deflate", Array(raw)), ("deflate", jpeg),
          ("deflate", gzip(jpeg)),
          ("gzip", gzip(jpeg).dropLast(4)), ("gzip", gzip(jpeg) + [0, 0]),
        ].map { coding, body in
          (
            coding,
            answer(
              "Content-Type: image/jpeg\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)", body
            )
          )
        }
          + ["image/jpeg", "application/octet-stream"].map { type in
            ("too short", answer("Content-Type: \(type)\r\nContent-Length: \(jpeg.count + 48)", jpeg))
          })
    }

    @Test("a JPEG without its end marker is accepted, also as the last part of a stream")
    func noEndMarker() async throws {
      let jpeg = Array(try smallJPEG().dropLast(2))
      let multipart = "Content-Type: multipart/x-mixed-replace;boundary=frame"
      let part = Array("--frame\r\nContent-Type: image/jpeg\r\n\r\n".utf8) + jpeg
      let sized = Array("--frame\r\nContent-Length: \(jpeg.count)\r\n\r\n".utf8) + jpeg
      try await expectPictures(
        ["image/jpeg", "application/octet-stream", "text/html"].flatMap { type in
          [
            (
              "\(type), with a length", answer("Content-Type: \(type)\r\nContent-Length: \(jpeg.count)", jpeg)
            ),
            ("\(type), closed", answer("Content-Type: \(type)", jpeg)),
          ]
        } + [
          ("no type", answer("", jpeg)), ("a part", answer(multipart, part)),
          ("a part with a length", answer(multipart, sized)),
        ])
    }

    @Test("a truncated JPEG response throws")
    func cutShort() async throws {
      let jpeg = try smallJPEG()
      let server = try server([
        answer("Content-Type: image/jpeg\r\nContent-Length: \(jpeg.count)", jpeg.dropLast(9)),
        answer("", jpeg.dropLast(9)),
      ])

      let error = await #expect(throws: SourceError.self) { try await firstFrame(server.url("/0")) }
      #expect(error?.reason == "closed the connection")
      await #expect(throws: SourceError.self) { try await firstFrame(server.url("/1")) }
    }

    @Test("a JPEG without a valid length is delivered although the connection stays open")
    func openEnd() async throws {
      let jpeg = try smallJPEG()
      let server = try HTTPTestServer { peer in
        guard peer.request() != nil else { return }
        peer.send(
          Array("HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: -1\r\n\r\n".utf8) + jpeg)
        peer.waitForEnd()
      }
      let source = try await openHTTP(server.url(), httpOptions(givesUp: .zero, every: true))

      // The second one comes over a connection of its own.
      for _ in 0..<2 { #expect(try await source.nextFrame() != nil) }
      #expect(source.status.counters.reconnections == 0)
      await source.close()
    }

    @Test("a multipart stream continues after a final boundary, and audio parts are not damage")
    func parts() async throws {
      let jpeg = try smallJPEG()
      let server = try HTTPTestServer { peer in
        guard peer.request() != nil, peer.send(multipartHead) else { return }
        for _ in 0..<3 {
          peer.send(
            multipartPart(jpeg)
              + Array("--frame--\r\n--frame\r\nContent-Type: audio/basic\r\n\r\nsound\r\n".utf8))
        }
        peer.waitForEnd()
      }
      let source = try await openHTTP(server.url(), httpOptions(every: true))

      for index in 0..<3 { #expect(try await source.nextFrame()?.sequence == index) }
      #expect(source.status.counters.damaged == 0)
      await source.close()
    }

    @Test("an unsolicited second response is not taken for the answer to the next request")
    func unsolicited() async throws {
      let (jpeg, other) = (try smallJPEG(), try smallJPEG(Size(width: 32, height: 24)))
      let server = try HTTPTestServer { request, index in
        httpAnswer(jpeg + [UInt8(index & 0xFF)]) + (index == 0 ? httpAnswer(other) : [])
      }
      let source = try await openHTTP(server.url(), httpOptions(givesUp: .zero, every: true))

      for _ in 0..<3 { #expect(try await source.nextFrame()?.format.size == Size(width: 24, height: 16)) }
      #expect(server.connectionCount == 2)
      await source.close()
    }
  }
#endif
