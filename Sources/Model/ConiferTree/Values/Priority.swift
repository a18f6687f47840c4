/// A value attached to a node by which its siblings can be sorted: a string, a finite number, or a
/// server value.
public struct Priority: Hashable, Comparable, Sendable {
  /// The priority as a leaf.
  public let leaf: Leaf

  /// A priority; none for booleans and numbers that are not finite.
  ///
  /// - Parameter leaf: the value.
  public init?(_ leaf: Leaf) {
    switch leaf {
    case .bool: return nil
    case .double(let value) where !value.isFinite: return nil
    default: self.leaf = leaf
    }
  }

  /// A priority that is a text.
  public init(_ text: String) { leaf = .string(text) }

  /// A priority that is an integer.
  public init(_ number: Int64) { leaf = .integer(number) }

  /// Orders numbers before strings, as the Realtime Database does.
  public static func < (a: Priority, b: Priority) -> Bool { Leaf.compare(a.leaf, b.leaf) < 0 }

  /// Orders two nodes' priorities, none first: negative, zero or positive.
  public static func compare(_ a: Priority?, _ b: Priority?) -> Int {
    switch (a, b) {
    case (let x?, let y?): return Leaf.compare(x.leaf, y.leaf)
    case (nil, nil): return 0
    case (nil, .some): return -1
    case (.some, nil): return 1
    }
  }
}

extension Priority: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  /// A priority that is a text.
  public init(stringLiteral value: String) { self.init(value) }
  /// A priority that is an integer.
  public init(integerLiteral value: Int64) { self.init(value) }
}
