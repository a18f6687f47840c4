/// Puts messages together from their frames.
public struct FrameAssembler: Sendable {
  private let limit: Int
  private var message: [UInt8] = []
  private var missing = 0

  /// An assembler that waits for the first frame of a message.
  ///
  /// - Parameter limit: the most bytes of a message, also of one that comes in one frame.
  public init(limit: Int) { self.limit = limit }

  /// Whether a message has begun and not ended.
  public var isWithinMessage: Bool { missing > 0 }

  /// The bytes of a message whose end has not come.
  public var heldBytes: Int { message.count }

  /// Takes the next frame.
  ///
  /// - Parameter frame: its text, in UTF-8.
  /// - Returns: the whole message, when this was its last frame.
  /// - Throws: `tooLarge`; no frame can be taken after that.
  public mutating func add(_ frame: [UInt8]) throws(WireError) -> [UInt8]? {
    if missing == 0 {
      guard let count = Self.count(frame) else {
        if frame.count > limit { throw tooLarge }
        return frame
      }
      // No piece is empty.
      if count > limit { throw tooLarge }
      missing = count
      return nil
    }
    if frame.count > limit - message.count { throw tooLarge }
    message += frame
    missing -= 1
    if missing > 0 { return nil }
    defer { message = [] }
    return message
  }

  /// The number of pieces that a frame announces: up to six digits, not zero.
  private static func count(_ frame: [UInt8]) -> Int? {
    guard (1...6).contains(frame.count) else { return nil }
    var count = 0
    for byte in frame {
      guard byte &- UInt8(ascii: "0") < 10 else { return nil }
      count = count * 10 + Int(byte &- UInt8(ascii: "0"))
    }
    return count > 0 ? count : nil
  }

  private var tooLarge: WireError {
    WireError(.tooLarge, "A message has more than \(limit) bytes.")
  }
}
