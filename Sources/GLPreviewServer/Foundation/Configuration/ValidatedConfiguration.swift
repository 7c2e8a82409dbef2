// A checked configuration. Services accept no other kind, so that none is open to everyone by accident.

/// A configuration without problems.
///
/// Names are valid in URLs and file names, and unique among cameras and scenes. Scenes show cameras that
/// exist. On an address that other machines can reach, the service requires credentials, unless
/// `access.isInsecure` is true.
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
    problems(ofListeningAt: bind, path: ["bind"]) + cameraProblems + memoryProblems + sceneProblems
      + clusterProblems + linkProblems + sections.problems(of: self, in: self)
  }

  /// Reports keys of cameras that are not there, and links in messages that could not be followed.
  private var linkProblems: [ConfigurationProblem] {
    var problems: [ConfigurationProblem] = []
    let names = cameras.map(\.name) + scenes.map(\.name)
    for key in access.linkKeys where !cluster.hasOthers {
      problems += key.cameras.filter { !names.contains($0) }.map {
        ConfigurationProblem(
          path: ["access", "link-keys", key.name, "cameras"],
          "no camera or scene '\($0)' (known: \(names.joined(separator: ", ")))")
      }
    }
    guard access.eventLinks != nil else { return problems }
    let path = ["access", "event-links"]
    if access.publicURL == nil {
      problems.append(ConfigurationProblem(path: path, "needs public-url, where links point"))
    }
    if access.linkKeys.isEmpty {
      problems.append(ConfigurationProblem(path: path, "needs a key in access.link-keys"))
    }
    return problems
  }

  /// Reports an address that other machines can reach without credentials, unless `access.isInsecure` allows
  /// it.
  package func problems(ofListeningAt address: ListenAddress, path: [String]) -> [ConfigurationProblem] {
    guard !access.isInsecure, !access.asksForCredentials, !address.isLocal else { return [] }
    return [
      ConfigurationProblem(
        path: path,
        """
        \(address) can be reached from other machines without credentials: set access.tokens \
        (GLPREVIEW_TOKEN) or access.users (GLPREVIEW_USER), or allow it by access.insecure: true (--insecure)
        """)
    ]
  }

  private var cameraProblems: [ConfigurationProblem] {
    var problems =
      cameras.isEmpty && !cluster.hasOthers
      ? [ConfigurationProblem(path: ["cameras"], "no camera is configured")] : []
    problems += repeated(cameras.map(\.name), "cameras", ["cameras"])
    problems += cameras.filter { $0.source == "-" }.dropFirst().prefix(1).map {
      ConfigurationProblem(
        path: ["cameras", $0.name, "source"], "standard input can be the source of one camera only")
    }
    for camera in cameras {
      let path = ["cameras", camera.name]
      let names = camera.views.map(\.view.name)
      problems += invalid(camera.name, path)
      if camera.triggerDelay > camera.replayDuration ?? .zero {
        problems.append(
          ConfigurationProblem(
            path: path + ["trigger-delay"], "is longer than 'replay', the length of the replay buffer"))
      }
      if let refusal = SourceLocator(camera.source).refusal(of: camera.options) {
        problems.append(ConfigurationProblem(path: path + [refusal.option], refusal.reason))
      }
      if names.isEmpty { problems.append(ConfigurationProblem(path: path, "has no view")) }
      for name in names { problems += invalid(name, path + ["views", name]) }
      problems += repeated(names, "views", path + ["views"])
      problems += warpProblems(of: camera, path)
      problems += camera.views.flatMap { $0.positionProblems(path + ["views", $0.view.name, "positions"]) }
      problems += camera.sections.problems(of: camera, in: self)
      let zones = camera.motion?.zones.map(\.name) ?? []
      problems += repeated(zones, "zones", path + ["motion", "zones"])
      if zones.count > MotionSettings.mostZones {
        problems.append(
          ConfigurationProblem(
            path: path + ["motion", "zones"],
            "\(zones.count) zones; at most \(MotionSettings.mostZones) are allowed")
        )
      }
      if let problem = camera.zoneProblem {
        problems.append(ConfigurationProblem(path: path + ["motion", "zones"], problem.reason))
      }
    }
    return problems
  }

  /// Reports replay buffers that use more than half of `limits.memory`: the rest is for drawing.
  private var memoryProblems: [ConfigurationProblem] {
    let kept = cameras.filter { $0.replay != nil }.map(\.replayBytes).reduce(0, +)
    guard let memory = limits.memory, kept > memory / 2 else { return [] }
    return [
      ConfigurationProblem(
        path: ["limits", "memory"],
        "the cameras' replay-bytes add up to \(kept), which is more than half of it")
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
          ConfigurationProblem(path: path, "is a camera's name: give the scene another name"))
      }
      problems += scene.sections.problems(of: scene, in: self)
      let missing = scene.scene.tiles.map(\.source).filter { !names.contains($0) }
      guard missing.isEmpty else {
        let known = names.joined(separator: ", ")
        problems += missing.map {
          ConfigurationProblem(path: path + ["tiles"], "no camera '\($0)' (known: \(known))")
        }
        continue
      }
      do throws(ParameterError) {
        _ = try scene.scene.composed(
          Dictionary(names.map { ($0, .live) }) { $1 }, at: WallClockTime(secondsSince1970: 0), text: nil)
      } catch {
        problems.append(ConfigurationProblem(path: path, error.description))
      }
      problems += warpProblems(of: scene.scene, path)
    }
    return problems
  }

  /// Reports views of a camera that can't be warped, whatever its pictures are.
  private func warpProblems(of camera: CameraConfiguration, _ path: [String]) -> [ConfigurationProblem] {
    camera.views.map(\.view).compactMap { view -> ConfigurationProblem? in
      do throws(ParameterError) {
        try view.withLens(camera.options.lens).checkSettings()
        return nil
      } catch {
        return ConfigurationProblem(path: path + ["views", view.name, error.key], error.reason)
      }
    }
  }

  /// Reports tiles of a scene that can't be warped, whatever the cameras' pictures are.
  private func warpProblems(of scene: Scene, _ path: [String]) -> [ConfigurationProblem] {
    // Other problems of a layout are reported elsewhere.
    guard
      let rectangles = try? scene.layout.rectangles(
        for: scene.tiles, in: scene.size, gap: scene.gap, tileAspect: scene.tileAspect)
    else { return [] }
    return zip(scene.tiles, rectangles).compactMap { tile, rectangle -> ConfigurationProblem? in
      var view = tile.view.withLens(cameras.first { $0.name == tile.source }?.options.lens)
      (view.width, view.height) = (rectangle.width, rectangle.height)
      do throws(ParameterError) {
        try view.checkSettings()
        return nil
      } catch {
        return ConfigurationProblem(path: path + ["tiles"], "\(tile.source): \(error)")
      }
    }
  }

  private func invalid(_ name: String, _ path: [String]) -> [ConfigurationProblem] {
    do throws(ParameterError) {
      try ViewConfiguration.check(name: name)
      return []
    } catch {
      return [ConfigurationProblem(path: path, error.reason)]
    }
  }

  /// Returns one problem for each name that occurs more than once in `names`.
  private func repeated(_ names: [String], _ kind: String, _ path: [String]) -> [ConfigurationProblem] {
    var counts: [String: Int] = [:]
    return names.filter { name in
      counts[name, default: 0] += 1
      return counts[name] == 2
    }.map { ConfigurationProblem(path: path + [$0], "is the name of two \(kind)") }
  }
}

extension ServedView {
  /// Reports positions that the view can't have.
  fileprivate func positionProblems(_ path: [String]) -> [ConfigurationProblem] {
    guard !positions.isEmpty else { return [] }
    guard let projection = view.projection else {
      return [ConfigurationProblem(path: path, "the view needs a projection")]
    }
    return positions.sorted { $0.key < $1.key }.compactMap { name, position -> ConfigurationProblem? in
      do throws(ParameterError) {
        try position.applied(to: projection.pose).check(as: projection.shape)
        return nil
      } catch {
        return ConfigurationProblem(path: path + [name, error.key], error.reason)
      }
    }
  }
}
