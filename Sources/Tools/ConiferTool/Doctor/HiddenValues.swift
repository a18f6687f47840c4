import ConiferKeyValue

/// Names and other texts of a store's data as a report shows them: as they are, or hidden, so that the report may be given to
/// somebody else.
///
/// A hidden text is replaced by its length and a hash: within one report the same texts look the same. The hash begins
/// with a number that is made for each report and forgotten, so that guesses cannot be tried on it.
struct HiddenValues {
  /// Nil when everything is shown.
  private let seed: UInt64?

  init(hides: Bool) { seed = hides ? .random(in: .min ... .max) : nil }

  /// Whether values are hidden.
  var hides: Bool { seed != nil }

  /// A name of the data: of a tree, a user, a place.
  func name(_ text: String) -> String {
    guard let seed else { return "\"\(text)\"" }
    let hash = XXHash64.hash(Bytes(text.utf8), seed: seed)
    return "<\(text.utf8.count) bytes, \(hash.hex.prefix(8))>"
  }

  /// The same for programs.
  func report(_ text: String) -> Report {
    .string(hides ? name(text) : text)
  }

  /// A sentence that may hold names of the data, or one that holds none in its place.
  func sentence(_ text: String, orElse plain: String) -> String { hides ? plain : text }
}
