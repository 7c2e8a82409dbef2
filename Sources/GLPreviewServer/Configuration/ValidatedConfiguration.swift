// A checked configuration. Services accept no other, so that none is open to everyone by accident.
internal import GLPreview
internal import PreviewCore

/// A configuration that breaks no rule.
///
/// Names are valid in URLs and file names, and unique among cameras and scenes. Scenes show cameras that exist. On an
/// address that other machines can reach, the service requires credentials, unless `access.isInsecure` is true.
@dynamicMemberLookup
package struct ValidatedConfiguration: Sendable, Hashable {
  package let configuration: ServerConfiguration

  /// Checks `configuration`.
  ///
  /// - Throws: `ConfigurationError` with all problems.
  package init(_ configuration: ServerConfiguration) throws(ConfigurationError) {
    let problems = configuration.problems
    guard problems.isEmpty else { throw ConfigurationError(problems) }
    self.configuration = configuration
  }

  package subscript<Value>(dynamicMember key: KeyPath<ServerConfiguration, Value>) -> Value {
    configuration[keyPath: key]
  }
}

extension ServerConfiguration {
  fileprivate var problems: [ConfigurationProblem] {
    accessProblems + cameraProblems + memoryProblems + sceneProblems + clusterProblems + mqttProblems
  }

  /// Other machines must not reach the service without credentials, unless `access.isInsecure` allows it.
  private var accessProblems: [ConfigurationProblem] {
    if access.asksForCredentials, rtsp.address != nil, access.users.isEmpty {
      let reason = "RTSP clients have a name and a password, but no token: give access.users (GLPREVIEW_USER)"
      return [ConfigurationProblem(path: ["rtsp", "listen"], reason)]
    }
    guard !access.isInsecure, !access.asksForCredentials else { return [] }
    let addresses = [(["bind"], bind)] + [rtsp.address].compactMap { $0 }.map { (["rtsp", "listen"], $0) }
    return addresses.filter { !$1.isLocal }.map { path, bind in
      ConfigurationProblem(
        path: path,
        """
        \(bind) can be reached from other machines, and everybody there could look: give access.tokens \
        (GLPREVIEW_TOKEN), or access.users (GLPREVIEW_USER), or say access.insecure: true (--insecure)
        """)
    }
  }

  private var cameraProblems: [ConfigurationProblem] {
    var problems =
      cameras.isEmpty && !cluster.hasOthers
      ? [ConfigurationProblem(path: ["cameras"], "there is none")] : []
    problems += repeated(cameras.map(\.name), "cameras", ["cameras"])
    problems += cameras.filter { $0.source == "-" }.dropFirst().prefix(1).map {
      ConfigurationProblem(
        path: ["cameras", $0.name, "source"], "standard input can be one source only")
    }
    for camera in cameras {
      let path = ["cameras", camera.name]
      let names = camera.views.map(\.view.name)
      problems += invalid(camera.name, path)
      if camera.triggerDelay > camera.replayDuration ?? .zero {
        problems.append(
          ConfigurationProblem(
            path: path + ["trigger-delay"], "is longer than 'replay', which keeps the pictures"))
      }
      if let refusal = SourceLocator(camera.source).refusal(of: camera.options) {
        problems.append(ConfigurationProblem(path: path + [refusal.option], refusal.reason))
      }
      if names.isEmpty { problems.append(ConfigurationProblem(path: path, "has no view")) }
      for name in names { problems += invalid(name, path + ["views", name]) }
      problems += repeated(names, "views", path + ["views"])
      problems += recordProblems(camera, path + ["record"])
      let zones = camera.motion?.zones.map(\.name) ?? []
      problems += repeated(zones, "zones", path + ["motion", "zones"])
      if zones.count > MotionSettings.mostZones {
        problems.append(
          ConfigurationProblem(
            path: path + ["motion", "zones"],
            "\(zones.count) zones; there are at most \(MotionSettings.mostZones)")
        )
      }
    }
    return problems
  }

  private func recordProblems(_ camera: CameraConfiguration, _ path: [String]) -> [ConfigurationProblem] {
    let record = camera.record
    guard record.when != .never else { return [] }
    let views = camera.views.map(\.view.name)
    let (isKnown, known) = (record.view.map(views.contains) ?? true, views.joined(separator: ", "))
    let reasons: [(String, String?)] = [
      ("when", record.when == .motion && camera.motion == nil ? "needs the camera's motion" : nil),
      ("when", recordings == nil ? "there is no folder for recordings: give recordings.path" : nil),
      ("view", isKnown ? nil : "there is no view '\(record.view ?? "")' (there are: \(known))"),
      (
        "before",
        record.before > .seconds(60) ? "is longer than a minute, all of which would be in memory" : nil
      ),
      (
        "segment",
        (.seconds(1)...(.seconds(86_400))).contains(record.segment) ? nil : "is not from 1 s to a day"
      ),
    ]
    return reasons.compactMap { key, reason in
      reason.map { ConfigurationProblem(path: path + [key], $0) }
    }
  }

  /// Half of the memory stays for drawing.
  private var memoryProblems: [ConfigurationProblem] {
    let kept = cameras.filter { $0.replay != nil }.map(\.replayBytes).reduce(0, +)
    guard let memory = limits.memory, kept > memory / 2 else { return [] }
    return [
      ConfigurationProblem(
        path: ["limits", "memory"],
        "half of it may hold kept pictures, and the cameras' replay-bytes are \(kept) in sum")
    ]
  }

  private var sceneProblems: [ConfigurationProblem] {
    let names = cameras.map(\.name)
    var problems = repeated(scenes.map(\.name), "scenes", ["scenes"])
    for scene in scenes {
      let path = ["scenes", scene.name]
      problems += invalid(scene.name, path)
      if names.contains(scene.name) {
        problems.append(
          ConfigurationProblem(path: path, "is a camera's name, and stands where that does in URLs"))
      }
      let missing = scene.scene.tiles.map(\.source).filter { !names.contains($0) }
      guard missing.isEmpty else {
        let known = names.joined(separator: ", ")
        problems += missing.map {
          ConfigurationProblem(path: path + ["tiles"], "there is no camera '\($0)' (there are: \(known))")
        }
        continue
      }
      do throws(WordError) {
        _ = try scene.scene.composed(
          Dictionary(names.map { ($0, .live) }) { $1 }, at: WallClockTime(secondsSince1970: 0), text: nil)
      } catch {
        problems.append(ConfigurationProblem(path: path, error.description))
      }
    }
    return problems
  }

  private var clusterProblems: [ConfigurationProblem] {
    let (peers, path) = (cluster.peers, ["cluster", "peers"])
    guard peers.count <= ClusterConfiguration.mostPeers else {
      return [
        ConfigurationProblem(
          path: path, "\(peers.count) peers; there are at most \(ClusterConfiguration.mostPeers)")
      ]
    }
    guard Set(peers).count == peers.count else {
      return [ConfigurationProblem(path: path, "has a peer twice")]
    }
    return homeProblems + brokerProblems
  }

  private var homeProblems: [ConfigurationProblem] {
    var problems: [ConfigurationProblem] = []
    for camera in cameras where camera.home == .any && camera.isDevice {
      problems.append(
        ConfigurationProblem(
          path: ["cameras", camera.name, "node"], "a camera of this machine can't move: name its node"))
    }
    guard cluster.broker != nil else { return problems }
    let movable = movableCameras
    for name in movable.sorted() where name.contains("..") || name.hasSuffix(".") {
      problems.append(
        ConfigurationProblem(
          path: ["cameras", name], "the name of a camera that moves neither ends in '.' nor has two in a row")
      )
    }
    for scene in scenes {
      for tile in scene.scene.sourceNames where movable.contains(tile) {
        problems.append(
          ConfigurationProblem(
            path: ["scenes", scene.name, "tiles"],
            "camera '\(tile)' moves, and scenes show cameras of one node: give it a node"))
      }
    }
    return problems
  }

  private var brokerProblems: [ConfigurationProblem] {
    guard let broker = cluster.broker else { return [] }
    var problems = broker.problems.map { ConfigurationProblem(path: ["cluster", "nats"], $0) }
    if cluster.url == nil, bind.url(isSecure: tls != nil) == nil {
      problems.append(
        ConfigurationProblem(
          path: ["cluster", "url"],
          "other nodes can't reach \(bind): give the address at which they reach this one, as http://10.0.0.7:8080"
        ))
    }
    if let name = cluster.name, name.contains("..") || name.hasSuffix(".") {
      problems.append(
        ConfigurationProblem(
          path: ["cluster", "name"], "neither ends in '.' nor has two in a row, with cluster.nats"))
    }
    return problems
  }

  private var mqttProblems: [ConfigurationProblem] {
    guard let mqtt else { return [] }
    let events = cameras.filter { $0.name == MQTTConfiguration.events }.map {
      ConfigurationProblem(
        path: ["cameras", $0.name], "is the name of the topics of events: give it another, or leave mqtt out")
    }
    return mqtt.problems.map { ConfigurationProblem(path: ["mqtt", $0.key], $0.reason) } + events
  }

  private func invalid(_ name: String, _ path: [String]) -> [ConfigurationProblem] {
    do throws(WordError) {
      try ViewConfiguration.check(name: name)
      return []
    } catch {
      return [ConfigurationProblem(path: path, error.reason)]
    }
  }

  /// One problem for each name that two or more of `names` have.
  private func repeated(_ names: [String], _ kind: String, _ path: [String]) -> [ConfigurationProblem] {
    var counts: [String: Int] = [:]
    return names.filter { name in
      counts[name, default: 0] += 1
      return counts[name] == 2
    }.map { ConfigurationProblem(path: path + [$0], "is the name of two \(kind)") }
  }
}
