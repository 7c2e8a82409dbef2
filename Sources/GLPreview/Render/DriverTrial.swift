// Choices that a trial makes once for a driver, and that are remembered.
internal import Shaders
internal import Synchronization

/// The driver refused a shader that is on trial.
struct ShaderRefusal: Error {}

/// A choice between ways of doing the same, which depends on the driver and on the shaders. It is kept in memory and in the
/// cache folder.
final class DriverTrial<Choice: RawRepresentable<String> & Sendable>: Sendable {
  private let name: String
  private let usual: Choice
  /// The results of this process, by driver.
  private let found = Mutex<[[String]: Choice]>([:])
  /// A trial that has begun. If it ends the process, or the driver, twice, there is no third.
  private let beginnings = ["trial 1", "trial 2"]

  /// - Parameters:
  ///   - name: the suffix of the files of results.
  ///   - usual: the choice without a trial.
  init(_ name: String, usual: Choice) { (self.name, self.usual) = (name, usual) }

  /// The choice for a driver: from a trial in this process or, on this machine, in an earlier one. Nil before a trial.
  /// Without a cache folder, the result could not be kept, and there are no trials.
  func known(_ driver: GPUDevice.Driver, _ folder: CacheFolder?) -> Choice? {
    found.withLock { found in
      if let choice = found[driver.identity] { return choice }
      guard let folder else { return usual }
      found[driver.identity] = note(of: driver, folder).flatMap(Choice.init(rawValue:))
      return found[driver.identity]
    }
  }

  private func note(of driver: GPUDevice.Driver, _ folder: CacheFolder) -> String? {
    folder.read(fileName(driver), limit: 16).map { String(decoding: $0, as: UTF8.self) }
  }

  private func keep(_ note: String, of driver: GPUDevice.Driver, _ folder: CacheFolder) {
    folder.write(Array(note.utf8), to: fileName(driver))
  }

  /// It also depends on the shaders. The folder does not remove it in favour of newer files.
  private func fileName(_ driver: GPUDevice.Driver) -> String {
    ProgramBinaryKey(sources: [name] + ShaderSource.texts, driver: driver.identity).name + ".\(name)"
  }

  /// One for all trials, which would disturb each other's times.
  private static func lockName(_ driver: GPUDevice.Driver) -> String {
    ProgramBinaryKey(sources: [], driver: driver.identity).name + ".trial-lock"
  }

  /// Makes the choice, and keeps it, unless it is an accident's, such as a lack of memory. While another renderer tries, in any
  /// process, it is the usual one, for this renderer alone.
  ///
  /// - Throws: `GLError` if the context is lost.
  func run(
    _ driver: GPUDevice.Driver?, in folder: CacheFolder?, _ trial: () throws -> Choice
  ) throws(GLError) -> Choice {
    guard let driver, let folder else { return usual }
    // The first write makes the folder.
    if note(of: driver, folder) == nil { keep("", of: driver, folder) }
    guard note(of: driver, folder) != nil, let lock = folder.lock(Self.lockName(driver)) else {
      return usual
    }
    defer { withExtendedLifetime(lock) {} }
    if let choice = known(driver, folder) { return choice }
    let begun = note(of: driver, folder).flatMap(beginnings.firstIndex(of:)).map { $0 + 1 } ?? 0
    var (choice, isKept) = (usual, true)
    if begun < beginnings.count {
      keep(beginnings[begun], of: driver, folder)
      do {
        choice = try trial()
      } catch let error as GLError where error.isContextLost {
        throw error
      } catch {
        // What the driver can't do, it can't do the next time either.
        isKept = error is ShaderRefusal || (error as? GLError)?.isOutOfMemory == false
      }
    }
    found.withLock { $0[driver.identity] = choice }
    keep(isKept ? choice.rawValue : "", of: driver, folder)
    return choice
  }
}

extension GPUDevice {
  /// Whether a renderer has opened it without a trial of the ways to draw and to code JPEGs, so that it uses
  /// default ones. Software, an early version of OpenGL ES, and a user's choices need no trial.
  package var isUntried: Bool {
    guard let driver, kind != .cpu, !isSoftware, driver.version >= GLVersion(3, 1) else { return false }
    if passes == nil || jpegProcessor == nil { return true }
    let isChosen = PassTrial.forced != nil && JPEGProcessor.chosen != .automatic
    return CacheFolder.ofThisProcess == nil && !isChosen
  }
}

extension GPUDevice.Driver {
  /// The strings that identify whatever the speed of shaders depends on.
  fileprivate var identity: [String] { [vendor, renderer, versionText] }
}
