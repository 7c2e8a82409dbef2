// Fields of requests and answers by names that no library knows.
internal import HTTPTypes

extension HTTPFields {
  /// The first field of that name; nil where there is none. Set to nil it is taken away.
  subscript(named name: String) -> String? {
    get { HTTPField.Name(name).flatMap { self[$0] } }
    set {
      if let name = HTTPField.Name(name) { self[name] = newValue }
    }
  }
}
