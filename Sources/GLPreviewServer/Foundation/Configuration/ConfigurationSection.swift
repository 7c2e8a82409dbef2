// The parts of a configuration that belong to features. Each feature declares its part beside its own code.

/// A part of a configuration that only one feature uses. The feature adds a property for it to its `Target`,
/// and a key to `ConfigurationSchema.all`.
package protocol ConfigurationSection: SendableMetatype {
  /// The configuration of the service, of a camera, or of a scene.
  associatedtype Target
  associatedtype Value: Sendable, Hashable

  /// The value if no key is set.
  static var usual: Value { get }
  /// Whether the value is a listen address, which a reload does not change.
  static var isAddress: Bool { get }

  /// Returns the contradictions of the section in `target`. Called only if the value differs from `usual`.
  static func problems(of target: Target, in service: ServerConfiguration) -> [ConfigurationProblem]
}

extension ConfigurationSection {
  package static var isAddress: Bool { false }

  package static func problems(of target: Target, in service: ServerConfiguration) -> [ConfigurationProblem] {
    []
  }
}

/// The values of sections that differ from their defaults.
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

  /// Returns the contradictions of all sections.
  func problems(of target: Target, in service: ServerConfiguration) -> [ConfigurationProblem] {
    entries.flatMap { $0.problems(target, service) }
  }

  /// Replaces the listen addresses by those of the start.
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
