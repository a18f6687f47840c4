/// The frames in which a message travels.
public enum Frames {
  /// The most UTF-16 code units of a frame.
  package static let size = 16_384

  /// Splits a message into its frames. A short message is one frame; a longer one is a frame with the
  /// number of pieces in decimal, then the pieces. No piece ends within a character.
  ///
  /// - Parameter message: its text, in UTF-8.
  /// - Returns: the frames in order, at least one.
  public static func split(_ message: [UInt8]) -> [[UInt8]] {
    // No text has more code units of UTF-16 than bytes of UTF-8.
    if message.count <= size { return [message] }
    var pieces: [[UInt8]] = []
    var start = 0
    var units = 0
    for index in message.indices {
      let width: Int
      switch message[index] {
      case 0x80..<0xC0: continue
      case 0xF0...: width = 2
      default: width = 1
      }
      if units + width > size {
        pieces.append(Array(message[start..<index]))
        (start, units) = (index, 0)
      }
      units += width
    }
    if pieces.isEmpty { return [message] }
    pieces.append(Array(message[start...]))
    return [Array(String(pieces.count).utf8)] + pieces
  }
}
