/// A token that a ``JSONReader`` reads, such as the begin of an object, a key or a number.
///
/// Numbers keep what the text says: an integer without fraction and exponent that fits 64 bits
/// stays an integer; everything else, `-0` and larger integers among it, is a double.
public enum JSONEvent: Hashable, Sendable {
  /// `{`; keys with their values follow, then `endObject`.
  case beginObject
  /// The key of the value that follows, with its escapes resolved. Keys may repeat.
  case key(String)
  /// `}`
  case endObject
  /// `[`; values follow, then `endArray`.
  case beginArray
  /// `]`
  case endArray
  /// A string with its escapes resolved.
  case string(String)
  /// An integer that fits 64 bits.
  case integer(Int64)
  /// Any other finite number.
  case double(Double)
  /// `true` or `false`
  case bool(Bool)
  /// `null`
  case null

  /// Compares strings by their bytes: to `String` a composed and a decomposed é are equal.
  public static func == (left: JSONEvent, right: JSONEvent) -> Bool {
    switch (left, right) {
    case (.beginObject, .beginObject), (.endObject, .endObject), (.beginArray, .beginArray),
      (.endArray, .endArray), (.null, .null):
      true
    case (.key(let left), .key(let right)), (.string(let left), .string(let right)):
      left.utf8.elementsEqual(right.utf8)
    case (.integer(let left), .integer(let right)): left == right
    case (.double(let left), .double(let right)): left == right
    case (.bool(let left), .bool(let right)): left == right
    default: false
    }
  }

  /// Hashes the kind and the payload, strings by their bytes.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .beginObject: hasher.combine(0)
    case .endObject: hasher.combine(1)
    case .beginArray: hasher.combine(2)
    case .endArray: hasher.combine(3)
    case .null: hasher.combine(4)
    case .key(let text), .string(let text):
      hasher.combine(5)
      for byte in text.utf8 { hasher.combine(byte) }
    case .integer(let number): hasher.combine(number)
    case .double(let number): hasher.combine(number)
    case .bool(let flag): hasher.combine(flag)
    }
  }
}
