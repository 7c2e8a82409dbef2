// A configuration key, declared once: its name, reading, storage and documentation. ConfigurationSchema lists
// all keys.

/// The documentation of a key.
package struct ConfigurationEntry: Sendable, Hashable {
  /// The path from the root. `NAME` is a name that the user chooses, `[]` is an item of a list.
  var path: [String]
  /// The accepted values.
  let form: String
  /// The default, in backticks if it is a literal value.
  let usual: String
  let purpose: String
  /// Whether a change takes effect at the next start only.
  var waitsForRestart = false
}

/// A configuration key that sets a value of a `Target`.
package struct ConfigurationKey<Target>: Sendable {
  package typealias Read =
    @Sendable (inout ConfigurationReader, _ above: ConfigurationPlace, inout Target) -> Void
  package typealias Store<Value> = @Sendable (inout Target, Value) -> Void
  package typealias Path<Value> = any WritableKeyPath<Target, Value> & Sendable
  /// The paths of keys whose values differ.
  typealias Differences = @Sendable (Target, Target) -> [(path: [String], waitsForRestart: Bool)]

  let name: String
  /// The key, or the keys below it, for documentation. Empty if files can't contain the key.
  private(set) var entries: [ConfigurationEntry]
  /// The key, or the keys below it, whose values differ between two targets. Lists of parts are not compared.
  private(set) var differences: Differences = { _, _ in [] }
  /// Reads the key below the place `above`, stores its value, and reports errors.
  let read: Read

  /// A key with one value, which is passed to `store`.
  init<Value>(
    _ name: String, _ format: ConfigurationFormat<Value>, _ usual: String, _ purpose: String,
    store: @escaping Store<Value>
  ) {
    self.init(name, form: format.form, usual, purpose) { reading, above, target in
      if let value = reading.value(of: above[name], format) { store(&target, value) }
    }
  }

  /// A key with one value.
  package init<Value: Equatable & Sendable>(
    _ name: String, _ format: ConfigurationFormat<Value>, _ path: Path<Value>, _ usual: String,
    _ purpose: String
  ) {
    self.init(name, format, usual, purpose) { $0[keyPath: path] = $1 }
    compare(path)
  }

  /// A key with one optional value.
  package init<Value: Equatable & Sendable>(
    _ name: String, _ format: ConfigurationFormat<Value>, _ path: Path<Value?>, _ usual: String,
    _ purpose: String
  ) {
    self.init(name, format, usual, purpose) { $0[keyPath: path] = $1 }
    compare(path)
  }

  /// A key with a list of values. In a mapping, `sign` joins each name with its value.
  package init<Value: Equatable & Sendable>(
    _ name: String, listOf format: ConfigurationFormat<Value>, joinedBy sign: String? = nil,
    _ path: Path<[Value]>, _ usual: String, _ purpose: String
  ) {
    self.init(name, form: "list of " + format.form, usual, purpose) { reading, above, target in
      if let values = reading.values(of: above[name], format, joinedBy: sign) {
        target[keyPath: path] = values
      }
    }
    compare(path)
  }

  /// A key that the environment and options can set, but files can't.
  init<Value>(
    outsideFiles name: String, _ format: ConfigurationFormat<Value>, store: @escaping Store<Value>
  ) {
    (self.name, entries) = (name, [])
    read = { reading, above, target in
      var place = above[name]
      place.file = nil
      if let value = reading.value(of: place, format) { store(&target, value) }
    }
  }

  /// Two keys: a secret, and the path of a file that contains it.
  package static func secret(
    _ name: String, _ format: ConfigurationFormat<String>, _ path: Path<String?>, _ usual: String,
    _ purpose: String
  ) -> [ConfigurationKey] {
    var keys = secret(name, format, usual, purpose) { $0[keyPath: path] = $1 }
    keys[0].compare(path)
    return keys
  }

  static func secret(
    _ name: String, _ format: ConfigurationFormat<String>, _ usual: String, _ purpose: String,
    store: @escaping Store<String>
  ) -> [ConfigurationKey] {
    let file = "\(name)-file"
    let areBoth: @Sendable (ConfigurationReader, ConfigurationPlace) -> Bool = { reading, above in
      reading.isSet(above[name]) && reading.isSet(above[file])
    }
    return [
      ConfigurationKey(name, form: format.form, usual, purpose) { reading, above, target in
        guard !areBoth(reading, above) else { return }
        if let secret = reading.value(of: above[name], format) { store(&target, secret) }
      },
      ConfigurationKey(file, form: format.inFile.form, usual, "a file that contains it in one line") {
        reading, above, target in
        guard !areBoth(reading, above) else {
          return reading.refuse(above[file], "\(name) and \(file) are both set: set only one of them")
        }
        if let secret = reading.value(of: above[file], format.inFile) { store(&target, secret) }
      },
    ]
  }

  // MARK: Reloads

  /// The key, with all below it, takes effect at the next start only.
  package var atStart: ConfigurationKey {
    var key = self
    for index in entries.indices { key.entries[index].waitsForRestart = true }
    key.differences = { [differences] in differences($0, $1).map { ($0.path, true) } }
    return key
  }

  private mutating func compare<Value: Equatable & Sendable>(_ path: Path<Value>) {
    differences = { [name] in $0[keyPath: path] == $1[keyPath: path] ? [] : [([name], false)] }
  }

  private mutating func compare<Part>(
    _ keys: [ConfigurationKey<Part>], _ part: @escaping @Sendable (Target) -> Part
  ) {
    differences = { [name] before, after in
      let (before, after) = (part(before), part(after))
      return keys.flatMap { $0.differences(before, after) }.map { ([name] + $0.path, $0.waitsForRestart) }
    }
  }

  // MARK: Keys with subkeys

  /// A key whose subkeys set a part of the target. With `needsKeys`, the part is off by default and must not
  /// be empty.
  package init<Part>(
    _ name: String, _ keys: [ConfigurationKey<Part>], _ path: Path<Part>, needsKeys: Bool = false
  ) {
    self.init(name, above: keys) { reading, above, target in
      reading.read(keys, at: above[name], into: &target[keyPath: path])
      if needsKeys { reading.refuseEmpty(above[name], keys.flatMap(\.entries)) }
    }
    compare(keys) { $0[keyPath: path] }
  }

  /// A key for an optional part, which is set only if `isThere` returns true. `isThere` reports what is
  /// missing.
  package init<Part: Sendable>(
    _ name: String, _ keys: [ConfigurationKey<Part>], _ path: Path<Part?>, new: Part,
    isThere: @escaping @Sendable (inout ConfigurationReader, ConfigurationPlace) -> Bool
  ) {
    self.init(name, above: keys) { reading, above, target in
      var part = new
      reading.read(keys, at: above[name], into: &part)
      if isThere(&reading, above[name]) { target[keyPath: path] = part }
    }
    compare(keys) { $0[keyPath: path] ?? new }
  }

  /// A key that switches an optional part on or off by a flag. Without a flag, but with subkeys, the part is
  /// on.
  init<Part: Sendable>(
    _ name: String, switching keys: [ConfigurationKey<Part>], _ path: Path<Part?>, new: Part,
    _ purpose: String
  ) {
    let flag = ConfigurationEntry(
      path: [name], form: ConfigurationFormat<Bool>.flag.form, usual: "off", purpose: purpose)
    self.init(name, above: keys, also: [flag]) { reading, above, target in
      var (place, scalar) = (above[name], above[name])
      if case .scalar = place.file?.content { place.file = nil } else { scalar.file = nil }
      let isOn = reading.value(of: scalar, .flag)
      var part = new
      reading.read(keys, at: place, into: &part)
      let isSet = place.isNamed || keys.contains { reading.isSet(place[$0.name]) }
      if isOn ?? isSet { target[keyPath: path] = part }
    }
    compare(keys) { $0[keyPath: path] ?? new }
  }

  /// A key for several parts, in a list or with user-chosen names. `finish` completes each part and reports
  /// missing keys. With `name`, a reload compares parts of the same name.
  package init<Part>(
    _ name: String, _ items: ConfigurationPlace.Items, _ keys: [ConfigurationKey<Part>], _ path: Path<[Part]>,
    new: @escaping @Sendable (String, Target) -> Part,
    finish: @escaping ConfigurationKey<Part>.Read = { _, _, _ in },
    comparing partName: (@Sendable (Part) -> String)? = nil
  ) {
    self.init(name, above: keys, items.mark) { reading, above, target in
      let places = reading.items(of: above[name], items)
      guard !places.isEmpty else { return }
      target[keyPath: path] = places.map { place in
        var part = new(place.path.last ?? "", target)
        reading.read(keys, at: place, into: &part)
        finish(&reading, place, &part)
        return part
      }
    }
    guard let partName else { return }
    differences = { before, after in
      let (before, after) = (before[keyPath: path], after[keyPath: path])
      guard before.map(partName) == after.map(partName) else { return [([name], false)] }
      return zip(before, after).flatMap { one, other in
        keys.flatMap { $0.differences(one, other) }.map {
          ([name, partName(one)] + $0.path, $0.waitsForRestart)
        }
      }
    }
  }

  // MARK: Shared initializers

  /// A key that the closure `read` reads.
  init(_ name: String, form: String, _ usual: String, _ purpose: String, _ read: @escaping Read) {
    entries = [ConfigurationEntry(path: [name], form: form, usual: usual, purpose: purpose)]
    (self.name, self.read) = (name, read)
  }

  private init<Part>(
    _ name: String, above keys: [ConfigurationKey<Part>], _ mark: String? = nil,
    also others: [ConfigurationEntry] = [], _ read: @escaping Read
  ) {
    entries =
      others
      + keys.flatMap(\.entries).map { entry in
        var entry = entry
        entry.path = [name] + (mark.map { [$0] } ?? []) + entry.path
        return entry
      }
    (self.name, self.read) = (name, read)
  }
}
