import ConiferTree

/// The path of a request's URL, which ends in `.json`.
enum RESTPath {
  /// The maximum length of a path as it was sent: enough for the tree's longest path with every
  /// byte percent-encoded.
  static let longest = 4096
  private static let suffix = ".json"

  static func isData(_ path: String) -> Bool { path.utf8.count >= 6 && path.hasSuffix(suffix) }

  /// The place in the tree that a URL's path names.
  ///
  /// Each segment is percent-decoded by itself, so an encoded slash is not a separator but a
  /// character that no key may have. Empty segments are ignored.
  static func parse(_ path: String) throws(RESTRefusal) -> Path {
    guard path.utf8.count <= longest else {
      throw RESTRefusal(400, "Invalid path: it has more than \(longest) bytes.")
    }
    var keys: [Key] = []
    for segment in path.utf8.dropLast(suffix.utf8.count).split(separator: UInt8(ascii: "/")) {
      guard let text = decoded(segment) else {
        throw RESTRefusal(
          400, "Invalid path: Invalid token in path. It is not percent-encoded UTF-8.")
      }
      keys.append(Key(text))
    }
    let place = Path(keys)
    do throws(TreeError) {
      try place.validate(writing: .empty)
    } catch {
      throw .path(error)
    }
    return place
  }

  /// The decoded text of percent-encoded UTF-8; nil when it is invalid.
  private static func decoded(_ segment: Substring.UTF8View) -> String? {
    var bytes: [UInt8] = []
    var rest = segment[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
