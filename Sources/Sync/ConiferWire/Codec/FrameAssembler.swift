/// Puts messages together from their frames, as their bytes come.
///
/// What is longer than the limit is not kept: of such a message only the number of its request is
/// read, so that it can be refused.
public struct FrameAssembler: Sendable {
  /// A message whose last frame has come.
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
  /// The pieces that a count announced and that have not ended; nil before there is a count.
  private var missing: Int?

  /// An assembler that waits for the first frame of a message.
  ///
  /// - Parameter limit: the most bytes of a message, also of one that comes in one frame.
  public init(limit: Int) { self.limit = limit }

  /// Whether a message has begun and not ended.
  public var isWithinMessage: Bool {
    if missing != nil { return true }
    if case .kept(let bytes) = content { return !bytes.isEmpty }
    return true
  }

  /// The memory that a message takes whose end has not come.
  public var heldBytes: Int {
    if case .kept(let bytes) = content { bytes.isEmpty ? 0 : bytes.capacity } else { 0 }
  }

  /// The bytes that came of a message that is too large; nil of one that is kept.
  public var discardedBytes: Int? {
    if case .discarded(_, let bytes) = content { bytes } else { nil }
  }

  /// Takes bytes of the frame that is under way.
  public mutating func append(_ part: [UInt8]) {
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

  /// Ends the frame that is under way.
  ///
  /// - Returns: the message, when this was its last frame.
  public mutating func endFrame() -> Message? {
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

  /// Takes the next frame whole.
  ///
  /// - Parameter frame: its text, in UTF-8.
  /// - Returns: the message, when this was its last frame.
  public mutating func add(_ frame: [UInt8]) -> Message? {
    append(frame)
    return endFrame()
  }

  /// The content, which is not held here any more, so that it can grow without being copied.
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
