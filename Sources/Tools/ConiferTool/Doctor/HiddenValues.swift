import Synchronization

/// Names and other texts of a store's data as a report shows them: as they are, or hidden, so that the report may be given to
/// somebody else.
///
/// A hidden text is replaced by a number, in the order in which the report comes to it, and its length: within one report
/// the same texts look the same. Nothing in the report depends on the rest of the text, so guesses cannot be tried on it.
final class HiddenValues: Sendable {
  /// Whether values are hidden.
  let hides: Bool
  /// The numbers of the texts that were met; by their bytes, since texts of different bytes may be equal.
  private let numbers = Mutex<[[UInt8]: Int]>([:])

  init(hides: Bool) { self.hides = hides }

  /// A name of the data: of a tree, a user, a place.
  func name(_ text: String) -> String {
    guard hides else { return "\"\(text)\"" }
    let bytes = Array(text.utf8)
    let number = numbers.withLock { numbers in
      let number = numbers[bytes] ?? numbers.count + 1
      numbers[bytes] = number
      return number
    }
    return "<\(number): \(bytes.count) bytes>"
  }

  /// The same for programs.
  func report(_ text: String) -> Report {
    .string(hides ? name(text) : text)
  }

  /// The same as a word of a command, or what stands for it.
  func word(_ text: String, orElse placeholder: String) -> String {
    hides ? placeholder : text.quoted
  }

  /// A sentence that may hold names of the data, or one that holds none in its place.
  func sentence(_ text: String, orElse plain: String) -> String { hides ? plain : text }
}
