// Access to header fields by names that the library does not define.
internal import HTTPTypes

extension HTTPFields {
  /// The first field of that name; nil if there is none. Setting nil removes it.
  subscript(named name: String) -> String? {
    get { HTTPField.Name(name).flatMap { self[$0] } }
    set {
      if let name = HTTPField.Name(name) { self[name] = newValue }
    }
  }
}
