/// The splitting of messages into frames.
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

/// An assembler that puts messages together from their frames as the bytes come.
///
/// A message longer than the limit is not kept: only the number of its request is read, so that the
/// request can be refused.
public struct FrameAssembler: Sendable {
  /// A message whose last frame has come, as text, or marked as too large.
  public enum Message: Hashable, Sendable {
    /// Its text, in UTF-8.
    case text([UInt8])
    /// One with more bytes than the limit, and the number of its request, if it is one.
    case tooLarge(request: UInt64?)

    /// Its text; nil of one that is too large.
    public var text: [UInt8]? {
      if case .text(let bytes) = self { bytes } else { nil }
    }
  }

  private enum Content: Sendable {
    case kept([UInt8])
    case discarded(RequestNumberFinder, bytes: Int)
  }

  private let limit: Int
  private var content = Content.kept([])
  /// How many pieces have yet to come; nil before a frame announced their number.
  private var missing: Int?

  /// An assembler that waits for the first frame of a message.
  ///
  /// - Parameter limit: the maximum size of a message in bytes, also of one in a single frame.
  public init(limit: Int) { self.limit = limit }

  /// Whether a message has begun and not ended.
  package var isWithinMessage: Bool {
    if missing != nil { return true }
    if case .kept(let bytes) = content { return !bytes.isEmpty }
    return true
  }

  /// The memory of an unfinished message.
  package var heldBytes: Int {
    if case .kept(let bytes) = content { bytes.isEmpty ? 0 : bytes.capacity } else { 0 }
  }

  /// How many bytes came of a message that is too large; nil when the message is kept.
  package var discardedBytes: Int? {
    if case .discarded(_, let bytes) = content { bytes } else { nil }
  }

  /// Takes the next bytes of the current frame.
  package mutating func append(_ part: [UInt8]) {
    switch take() {
    case .kept(var bytes):
      if part.count > limit - bytes.count { return discard(bytes, part) }
      if bytes.isEmpty { bytes = part } else { bytes += part }
      content = .kept(bytes)
    case .discarded(var finder, let count):
      finder.read(part)
      content = .discarded(finder, bytes: count + part.count)
    }
  }

  /// Ends the current frame.
  ///
  /// - Returns: the message, when this was its last frame.
  package mutating func endFrame() -> Message? {
    if let missing {
      self.missing = missing - 1
      if missing > 1 { return nil }
    } else if case .kept(let bytes) = content, let count = Self.count(bytes) {
      missing = count
      content = .kept([])
      // No piece is empty.
      if count > limit { discard([], []) }
      return nil
    }
    missing = nil
    switch take() {
    case .kept(let bytes): return .text(bytes)
    case .discarded(let finder, _): return .tooLarge(request: finder.number)
    }
  }

  /// Takes a whole frame.
  ///
  /// - Parameter frame: its text, in UTF-8.
  /// - Returns: the message, when this was its last frame.
  public mutating func add(_ frame: [UInt8]) -> Message? {
    append(frame)
    return endFrame()
  }

  /// Takes the content out, so that it has one owner and grows without being copied.
  private mutating func take() -> Content {
    var taken = Content.kept([])
    swap(&taken, &content)
    return taken
  }

  private mutating func discard(_ parts: [UInt8]...) {
    var finder = RequestNumberFinder()
    for part in parts { finder.read(part) }
    content = .discarded(finder, bytes: parts.reduce(0) { $0 + $1.count })
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
}
