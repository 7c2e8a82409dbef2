// The rules for every configuration: unique names, scenes of existing cameras, no open access by accident.
internal import GLPreview
internal import PreviewCore

/// A broken rule, and its place.
struct ConfigurationFault: Hashable {
  /// The components of the key, separate because names may contain dots.
  let path: [String]
  let reason: String
}

extension ServerConfiguration {
  var faults: [ConfigurationFault] {
    (openDoor.map { [$0] } ?? []) + cameraFaults + sceneFaults
  }

  /// The fault if other machines can reach the service without credentials, and `access.isInsecure` does not allow it.
  var openDoor: ConfigurationFault? {
    guard !bind.isLocal, !access.isInsecure, !access.asksForCredentials else { return nil }
    return ConfigurationFault(
      path: ["bind"],
      reason: """
        \(bind) can be reached from other machines, and everybody there could look: give access.tokens \
        (GLPREVIEW_TOKEN), or access.users (GLPREVIEW_USER), or say access.insecure: true (--insecure)
        """)
  }

  private var cameraFaults: [ConfigurationFault] {
    var faults: [ConfigurationFault] = []
    if cameras.isEmpty { faults.append(ConfigurationFault(path: ["cameras"], reason: "there is none")) }
    faults += repeated(cameras.map(\.name)).map {
      ConfigurationFault(path: ["cameras", $0], reason: "is the name of two cameras")
    }
    if let second = cameras.filter({ $0.source == "-" }).dropFirst().first {
      faults.append(
        ConfigurationFault(
          path: ["cameras", second.name, "source"], reason: "standard input can be one source only"))
    }
    for camera in cameras {
      let path = ["cameras", camera.name]
      faults += nameFault(camera.name, path)
      if camera.views.isEmpty { faults.append(ConfigurationFault(path: path, reason: "has no view")) }
      for view in camera.views.map(\.view) { faults += nameFault(view.name, path + ["views", view.name]) }
      faults += repeated(camera.views.map(\.view.name)).map {
        ConfigurationFault(path: path + ["views", $0], reason: "is the name of two views")
      }
    }
    return faults
  }

  private var sceneFaults: [ConfigurationFault] {
    let names = cameras.map(\.name)
    var faults = repeated(scenes.map(\.name)).map {
      ConfigurationFault(path: ["scenes", $0], reason: "is the name of two scenes")
    }
    for scene in scenes {
      let path = ["scenes", scene.name]
      faults += nameFault(scene.name, path)
      if names.contains(scene.name) {
        faults.append(
          ConfigurationFault(path: path, reason: "is a camera's name, and stands where that does in URLs"))
      }
      let missing = scene.scene.tiles.map(\.source).filter { !names.contains($0) }
      guard missing.isEmpty else {
        let known = names.joined(separator: ", ")
        faults += missing.map {
          ConfigurationFault(
            path: path + ["tiles"], reason: "there is no camera '\($0)' (there are: \(known))")
        }
        continue
      }
      do throws(WordError) {
        _ = try scene.scene.composed(
          Dictionary(names.map { ($0, .live) }) { $1 }, at: WallClockTime(secondsSince1970: 0), text: nil)
      } catch {
        faults.append(ConfigurationFault(path: path, reason: error.description))
      }
    }
    return faults
  }

  private func nameFault(_ name: String, _ path: [String]) -> [ConfigurationFault] {
    do throws(WordError) {
      try ViewConfiguration.check(name: name)
      return []
    } catch {
      return [ConfigurationFault(path: path, reason: error.reason)]
    }
  }

  /// Each repeated name, once.
  private func repeated(_ names: [String]) -> [String] {
    var seen: Set<String> = []
    var repeated: [String] = []
    for name in names where !seen.insert(name).inserted && !repeated.contains(name) { repeated.append(name) }
    return repeated
  }
}
