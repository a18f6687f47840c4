/// The segments of a collection's or a document's path, in one text with slashes between them.
///
/// Paths are ordered segment by segment: numeric ids (`__id7__`) come first and by their numbers,
/// other segments follow by their UTF-8 bytes; a path comes before the paths below it.
struct ResourcePath: Sendable {
  /// The segments with slashes between them and none around them.
  let text: String

  init(unchecked text: String) {
    var native = text
    native.makeContiguousUTF8()
    self.text = native
  }

  /// The segments.
  var segments: [Substring] { text.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) } }

  /// Lends the bytes of each segment, without an allocation.
  func forEachSegment(_ body: (UnsafeBufferPointer<UInt8>) -> Void) {
    text.lendUTF8 { bytes in
      var start = 0
      while start < bytes.count {
        let segment = Self.segment(of: bytes, from: start)
        body(segment)
        start += segment.count + 1
      }
    }
  }

  /// The number of segments.
  var count: Int {
    text.lendUTF8 { bytes in
      bytes.isEmpty ? 0 : bytes.reduce(1) { $1 == UInt8(ascii: "/") ? $0 + 1 : $0 }
    }
  }

  /// The last segment; empty for the empty path.
  var last: String {
    guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return text }
    return String(text[text.utf8.index(after: slash)...])
  }

  /// The path without its last segment; none when there is but one.
  var parent: ResourcePath? {
    text.utf8.lastIndex(of: UInt8(ascii: "/")).map { ResourcePath(unchecked: String(text[..<$0])) }
  }

  /// Whether another path is this path and one more segment; false for the empty path.
  func isParent(of child: ResourcePath) -> Bool {
    text.lendUTF8 { own in
      child.text.lendUTF8 { other in
        guard own.count < other.count, other[own.count] == UInt8(ascii: "/"),
          firstDifference(own, other) == own.count
        else { return false }
        return !other[(own.count + 1)...].contains(UInt8(ascii: "/"))
      }
    }
  }

  func appending(_ segments: String) -> ResourcePath {
    ResourcePath(unchecked: text.utf8.isEmpty ? segments : text + "/" + segments)
  }

  /// Orders two paths: negative, zero or positive.
  static func compare(_ a: ResourcePath, _ b: ResourcePath) -> Int {
    a.text.lendUTF8 { x in b.text.lendUTF8 { y in compare(x, y) } }
  }

  private typealias Bytes = UnsafeBufferPointer<UInt8>

  private static func compare(_ a: Bytes, _ b: Bytes) -> Int {
    let i = firstDifference(a, b)
    if i == a.count && i == b.count { return 0 }
    let slash = UInt8(ascii: "/")
    // The segments that differ begin after the last slash that both have.
    var start = i
    while start > 0, a[start - 1] != slash { start -= 1 }
    // Numeric ids begin with an underscore. Few segments do, so that is tested first.
    let mayBeNumeric =
      start < a.count && a[start] == UInt8(ascii: "_")
      || start < b.count && b[start] == UInt8(ascii: "_")
    let x = mayBeNumeric ? NumericID.number(of: segment(of: a, from: start)) : nil
    let y = mayBeNumeric ? NumericID.number(of: segment(of: b, from: start)) : nil
    if x != nil || y != nil {
      guard let x else { return start == a.count ? -1 : 1 }
      guard let y else { return start == b.count ? 1 : -1 }
      // Each number has one spelling, so equal numbers are equal segments.
      if x != y { return x < y ? -1 : 1 }
    }
    // A segment that ends sorts before a longer one, whatever the next byte is.
    if i == a.count || i == b.count { return a.count - b.count }
    if a[i] == slash || b[i] == slash { return a[i] == slash ? -1 : 1 }
    return a[i] < b[i] ? -1 : 1
  }

  private static func segment(of bytes: Bytes, from start: Int) -> Bytes {
    let rest = Bytes(rebasing: bytes[start...])
    return Bytes(rebasing: rest[..<(rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.count)])
  }
}

extension ResourcePath: Hashable {
  static func == (a: ResourcePath, b: ResourcePath) -> Bool { a.text.hasSameBytes(as: b.text) }
  func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

extension ResourcePath {
  /// The path of a text, with or without slashes around it.
  ///
  /// - Throws: `invalidPath` when it is empty or has an empty segment.
  init(parsing text: String) throws(DocumentError) {
    var rest = text[...]
    if rest.utf8.first == UInt8(ascii: "/") { rest = Substring(rest.utf8.dropFirst()) }
    if rest.utf8.last == UInt8(ascii: "/") { rest = Substring(rest.utf8.dropLast()) }
    guard !rest.utf8.isEmpty else {
      throw DocumentError(.invalidPath, "A path is empty. Name a collection or a document.")
    }
    let path = rest.utf8.count == text.utf8.count ? text : String(rest)
    guard !Self.hasEmptySegment(path) else {
      throw DocumentError(
        .invalidPath, "The path '\(text)' has an empty segment. Remove the doubled slash.")
    }
    self.init(unchecked: path)
  }

  private static func hasEmptySegment(_ text: String) -> Bool {
    text.lendUTF8 { bytes in
      var previous = UInt8(ascii: "/")
      for byte in bytes {
        if byte == UInt8(ascii: "/"), previous == byte { return true }
        previous = byte
      }
      return previous == UInt8(ascii: "/")
    }
  }
}
