/// A location in the tree, given as keys from the root down.
///
/// A path may end in `.priority`, which names the priority of the node above it.
public struct Path: Hashable, Sendable {
  /// The keys from the root down; none for the root.
  public let keys: [Key]

  /// A path of keys that are not checked.
  ///
  /// - Parameter keys: the keys from the root down.
  public init(_ keys: [Key]) { self.keys = keys }

  /// A path from text that is not checked; empty segments are ignored.
  ///
  /// - Parameter string: keys separated by `/`, with or without slashes around them.
  public init(_ string: String) {
    keys = string.lendUTF8 { text in
      var keys: [Key] = []
      keys.reserveCapacity(4)
      var start = 0
      while start < text.count {
        let rest = UnsafeBufferPointer(rebasing: text[start...])
        let length = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.count
        if length > 0 {
          keys.append(
            Key(utf8: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(rest)[..<length])))
        }
        start += length + 1
      }
      return keys
    }
  }

  /// The path of no keys.
  public static let root = Path([])

  /// Whether this is the root.
  public var isRoot: Bool { keys.isEmpty }
  /// The number of keys.
  public var count: Int { keys.count }
  /// The key nearest the root.
  public var first: Key? { keys.first }
  /// The key farthest from the root.
  public var last: Key? { keys.last }
  /// The path without its last key; none for the root.
  public var parent: Path? { keys.isEmpty ? nil : Path(Array(keys.dropLast())) }

  /// The path of a child.
  public func appending(_ key: Key) -> Path { Path(keys + [key]) }
  /// The path of a descendant.
  public func appending(_ other: Path) -> Path { Path(keys + other.keys) }
  /// The path without its first key; the root stays the root.
  public func dropFirst() -> Path { Path(Array(keys.dropFirst())) }

  /// Whether another path is this one or below it.
  public func contains(_ other: Path) -> Bool {
    keys.count <= other.keys.count && zip(keys, other.keys).allSatisfy(==)
  }

  /// The rest of this path below an ancestor; none when it is not one.
  ///
  /// - Parameter ancestor: this path or one above it.
  public func relative(to ancestor: Path) -> Path? {
    ancestor.contains(self) ? Path(Array(keys.dropFirst(ancestor.count))) : nil
  }
}

extension Path: Comparable {
  /// Orders paths key by key; a prefix comes first.
  public static func < (a: Path, b: Path) -> Bool { compare(a.keys, b.keys) < 0 }

  /// Orders two lists of keys; a prefix comes first: negative, zero or positive.
  static func compare(_ a: [Key], _ b: [Key]) -> Int {
    for i in 0..<min(a.count, b.count) {
      let order = Key.compare(a[i], b[i])
      if order != 0 { return order }
    }
    return a.count - b.count
  }
}

extension Path: CustomStringConvertible, ExpressibleByStringLiteral {
  /// The keys with a slash before each; `/` for the root.
  public var description: String {
    keys.isEmpty ? "/" : keys.reduce(into: "") { $0 += "/" + $1.string }
  }

  /// A path from text that is not checked.
  public init(stringLiteral value: String) { self.init(value) }
}
