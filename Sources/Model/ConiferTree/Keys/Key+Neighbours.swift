// Bounds that exclude a key are sent to servers that only know bounds that include one.
extension Key {
  /// The UTF-16 length to which neighbours are padded, as the Realtime Database has it.
  private static let padded = 786
  private static let smallest: Unicode.Scalar = " "
  private static let largest: Unicode.Scalar = "\u{FFFF}"

  /// The next larger key; none when there is none.
  ///
  /// An integer's is the next integer, after the largest one the smallest text; a text's is the
  /// text with a space after it, or, at 786 UTF-16 units, with its last character increased.
  public var successor: Key? {
    if let integer {
      return integer == .max ? Key(String(Key.smallest)) : Key(Int(integer) + 1)
    }
    if string.utf16.count < Key.padded { return Key(string + String(Key.smallest)) }
    var scalars = Array(string.unicodeScalars)
    while scalars.last == Key.largest { scalars.removeLast() }
    guard let last = scalars.popLast() else { return nil }
    return Key(scalars: scalars + [Key.scalar(from: last, step: 1) ?? "\u{E000}"])
  }

  /// The next smaller key; none when there is none.
  ///
  /// An integer's is the integer before; a text's is the text without a space at its end, or with
  /// its last character decreased and padded with U+FFFF to 786 UTF-16 units.
  public var predecessor: Key? {
    if let integer { return integer == .min ? nil : Key(Int(integer) - 1) }
    var scalars = Array(string.unicodeScalars)
    guard let last = scalars.popLast() else { return nil }
    guard let lower = Key.scalar(from: last, step: -1), lower >= Key.smallest else {
      return scalars.isEmpty ? Key(Int(Int32.max)) : Key(scalars: scalars)
    }
    scalars.append(lower)
    let length = scalars.reduce(0) { $0 + UTF16.width($1) }
    let padding = max(0, Key.padded - length)
    return Key(scalars: scalars + Array(repeating: Key.largest, count: padding))
  }

  private init(scalars: [Unicode.Scalar]) {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    self.init(String(text))
  }

  /// The nearest scalar in a direction that a key may hold; none at the end of the range.
  private static func scalar(from scalar: Unicode.Scalar, step: Int) -> Unicode.Scalar? {
    var value = Int(scalar.value) + step
    while value >= 0, value <= 0x10FFFF {
      if let next = Unicode.Scalar(UInt32(value)), !(next.isASCII && isForbidden(UInt8(value))) {
        return next
      }
      value += step
    }
    return nil
  }
}
