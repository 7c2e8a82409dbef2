// One key of a configuration, written once: how it is called, read, stored and documented. ConfigurationKeys are the table.

/// What documentation says of a key.
struct ConfigurationEntry: Sendable, Hashable {
  /// From the root; `NAME` stands for a name that the user gives, `[]` for an item of a list.
  var path: [String]
  /// What its words may be.
  let form: String
  /// What holds where nobody says it; between backticks where that is a word.
  let usual: String
  let purpose: String
}

/// A key of a `Target`.
struct ConfigurationKey<Target>: Sendable {
  let name: String
  /// It, or the keys below it, for documentation. None: files don't have it.
  let entries: [ConfigurationEntry]
  /// Stores what is said of it, at a place below the one that is given, and tells what makes no sense.
  let read: @Sendable (inout ConfigurationReader, _ above: ConfigurationPlace, inout Target) -> Void

  typealias Path<Value> = any WritableKeyPath<Target, Value> & Sendable

  /// A key of one word, which `store` takes.
  init<Value>(
    _ name: String, _ word: ConfigurationWord<Value>, _ usual: String, _ purpose: String,
    store: @escaping @Sendable (inout Target, Value) -> Void
  ) {
    self.init(name, word.form, usual, purpose) { reading, above, target in
      if let value = reading.value(of: above[name], word) { store(&target, value) }
    }
  }

  /// A key of one word.
  init<Value>(
    _ name: String, _ word: ConfigurationWord<Value>, _ path: Path<Value>, _ usual: String, _ purpose: String
  ) { self.init(name, word, usual, purpose) { $0[keyPath: path] = $1 } }

  /// A key of one word that may be left open.
  init<Value>(
    _ name: String, _ word: ConfigurationWord<Value>, _ path: Path<Value?>, _ usual: String, _ purpose: String
  ) { self.init(name, word, usual, purpose) { $0[keyPath: path] = $1 } }

  /// A key of several words; `sign` joins names and values to words.
  init<Value>(
    _ name: String, listOf word: ConfigurationWord<Value>, joinedBy sign: String? = nil,
    _ path: Path<[Value]>,
    _ usual: String, _ purpose: String
  ) {
    self.init(name, "list of " + word.form, usual, purpose) { reading, above, target in
      if let values = reading.values(of: above[name], word, joinedBy: sign) { target[keyPath: path] = values }
    }
  }

  /// A key of the environment and of options, but not of files.
  init<Value>(
    outsideFiles name: String, _ word: ConfigurationWord<Value>,
    store: @escaping @Sendable (inout Target, Value) -> Void
  ) {
    (self.name, entries) = (name, [])
    read = { reading, above, target in
      var place = above[name]
      place.file = nil
      if let value = reading.value(of: place, word) { store(&target, value) }
    }
  }

  /// Two keys: a secret, and the name of a file that has it.
  static func secret(
    _ name: String, _ word: ConfigurationWord<String>, _ path: Path<String?>, _ usual: String,
    _ purpose: String
  ) -> [ConfigurationKey] {
    let file = word.inFile
    @Sendable func areBoth(_ reading: ConfigurationReader, _ above: ConfigurationPlace) -> Bool {
      reading.isSaid(above[name]) && reading.isSaid(above["\(name)-file"])
    }
    return [
      ConfigurationKey(name, word.form, usual, purpose) { reading, above, target in
        guard !areBoth(reading, above) else { return }
        target[keyPath: path] = reading.value(of: above[name], word)
      },
      ConfigurationKey("\(name)-file", file.form, usual, "the file that has it, in one line") {
        reading, above, target in
        let place = above["\(name)-file"]
        guard !areBoth(reading, above) else {
          return reading.refuse(place, "\(name) and \(name)-file say the same; one of them is enough")
        }
        if let secret = reading.value(of: place, file) { target[keyPath: path] = secret }
      },
    ]
  }

  // MARK: Keys with keys of their own

  /// A part of the target.
  init<Part>(_ name: String, _ keys: [ConfigurationKey<Part>], _ path: Path<Part>) {
    self.init(name, above: keys) { reading, above, target in
      reading.read(keys, at: above[name], into: &target[keyPath: path])
    }
  }

  /// A part that is only there where `isThere` says so, which tells what is missing.
  init<Part: Sendable>(
    _ name: String, _ keys: [ConfigurationKey<Part>], _ path: Path<Part?>, new: Part,
    isThere: @escaping @Sendable (inout ConfigurationReader, ConfigurationPlace) -> Bool
  ) {
    self.init(name, above: keys) { reading, above, target in
      var part = new
      reading.read(keys, at: above[name], into: &part)
      if isThere(&reading, above[name]) { target[keyPath: path] = part }
    }
  }

  /// Several parts, by names that the user gives or in a list; `finish` makes items of them, or tells what is missing.
  init<Part, Item>(
    _ name: String, _ items: ConfigurationPlace.Items, _ keys: [ConfigurationKey<Part>], _ path: Path<[Item]>,
    new: @escaping @Sendable (String, Target) -> Part,
    finish: @escaping @Sendable (inout ConfigurationReader, ConfigurationPlace, Part) -> Item?
  ) {
    self.init(name, above: keys, items.mark) { reading, above, target in
      let places = reading.items(of: above[name], items)
      guard !places.isEmpty else { return }
      target[keyPath: path] = places.compactMap { place in
        var part = new(place.path.last ?? "", target)
        reading.read(keys, at: place, into: &part)
        return finish(&reading, place, part)
      }
    }
  }

  // MARK: What all have

  private typealias Read = @Sendable (inout ConfigurationReader, ConfigurationPlace, inout Target) -> Void

  private init(_ name: String, _ form: String, _ usual: String, _ purpose: String, _ read: @escaping Read) {
    entries = [ConfigurationEntry(path: [name], form: form, usual: usual, purpose: purpose)]
    (self.name, self.read) = (name, read)
  }

  private init<Part>(
    _ name: String, above keys: [ConfigurationKey<Part>], _ mark: String? = nil, _ read: @escaping Read
  ) {
    entries = keys.flatMap(\.entries).map { entry in
      var entry = entry
      entry.path = [name] + (mark.map { [$0] } ?? []) + entry.path
      return entry
    }
    (self.name, self.read) = (name, read)
  }
}
