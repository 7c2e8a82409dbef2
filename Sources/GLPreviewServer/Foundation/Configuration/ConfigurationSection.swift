// The parts of a configuration that belong to features, which declare them beside their own code.

/// A part of a configuration that only one feature knows. The feature adds a property for it to its `Target`, and a key to the
/// list of `ConfigurationSchema.all`.
package protocol ConfigurationSection: SendableMetatype {
  /// The configuration of the service, or of a camera.
  associatedtype Target
  associatedtype Value: Sendable, Hashable

  /// The value where no key is set.
  static var usual: Value { get }
  /// Whether a reload leaves the value as it was at the start: an address that is listened on.
  static var isAddress: Bool { get }

  /// The contradictions of the section in `target`. They are asked for only where the value is another than the usual one.
  static func problems(of target: Target, in service: ServerConfiguration) -> [ConfigurationProblem]
}

extension ConfigurationSection {
  package static var isAddress: Bool { false }

  package static func problems(of target: Target, in service: ServerConfiguration) -> [ConfigurationProblem] {
    []
  }
}

/// The values of sections that differ from the usual ones.
package struct ConfigurationSections<Target>: Sendable, Hashable {
  private struct Entry: Sendable {
    let section: ObjectIdentifier
    let isAddress: Bool
    let value: any Sendable & Hashable
    let problems: @Sendable (Target, ServerConfiguration) -> [ConfigurationProblem]
  }

  private var entries: [Entry] = []

  package subscript<Section: ConfigurationSection>(section: Section.Type) -> Section.Value
  where Section.Target == Target {
    get {
      guard let entry = entry(ObjectIdentifier(section)) else { return Section.usual }
      return entry.value as? Section.Value ?? Section.usual
    }
    set {
      entries.removeAll { $0.section == ObjectIdentifier(section) }
      guard newValue != Section.usual else { return }
      entries.append(
        Entry(section: ObjectIdentifier(section), isAddress: Section.isAddress, value: newValue) {
          Section.problems(of: $0, in: $1)
        })
    }
  }

  private func entry(_ section: ObjectIdentifier) -> Entry? { entries.first { $0.section == section } }

  /// The contradictions of all sections.
  func problems(of target: Target, in service: ServerConfiguration) -> [ConfigurationProblem] {
    entries.flatMap { $0.problems(target, service) }
  }

  /// Takes the addresses over that are listened on.
  package mutating func keepAddresses(of start: Self) {
    entries = entries.filter { !$0.isAddress } + start.entries.filter(\.isAddress)
  }

  package static func == (one: Self, other: Self) -> Bool {
    one.entries.count == other.entries.count
      && one.entries.allSatisfy { entry in
        other.entry(entry.section).map { AnyHashable($0.value) == AnyHashable(entry.value) } ?? false
      }
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(entries.count) }
}
