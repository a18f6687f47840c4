/// A strict pull parser of one JSON text (RFC 8259), in chunks and in flat memory.
///
/// Each call of ``next()`` returns one event. The reader keeps only the current chunk, one token
/// and a byte for each open container, and does not recurse, so neither the size nor the nesting of
/// a text can exhaust memory or the stack. A UTF-8 byte order mark before the text is skipped.
/// After an error every further call throws that error again.
///
/// ```swift
/// var reader = JSONReader(bytes: Array("[1, 2.5]".utf8))
/// while let event = try reader.next() { print(event) }
/// ```
public struct JSONReader {
  /// The limits of a ``JSONReader`` on nesting and on the length of strings and numbers.
  public struct Limits: Sendable, Hashable {
    /// How many arrays and objects may be open at once.
    public var depth: Int
    /// The longest string, in UTF-8 bytes without its escapes.
    public var stringBytes: Int
    /// The longest number, in bytes.
    public var numberBytes: Int
    /// Whether the escape of half a surrogate pair, which no tree can hold, is read as U+FFFD instead
    /// of being refused.
    public var replacesLoneSurrogates: Bool

    /// Sets limits; the defaults let everything through that a tree can hold.
    /// - Parameters:
    ///   - depth: How many arrays and objects may be open at once.
    ///   - stringBytes: The longest string, in UTF-8 bytes without its escapes.
    ///   - numberBytes: The longest number, in bytes.
    ///   - replacesLoneSurrogates: Whether half a surrogate pair is read as U+FFFD.
    public init(
      depth: Int = 1000, stringBytes: Int = 64 << 20, numberBytes: Int = 64 << 10,
      replacesLoneSurrogates: Bool = false
    ) {
      self.depth = depth
      self.stringBytes = stringBytes
      self.numberBytes = numberBytes
      self.replacesLoneSurrogates = replacesLoneSurrogates
    }
  }

  /// What the grammar allows next.
  enum State {
    case start, value, firstElement, firstKey, key, colon, afterValue, done
  }

  let limits: Limits
  var source: ((inout [UInt8]) throws -> Bool)?
  /// The current chunk, and the next byte in it.
  var buffer: [UInt8]
  var position = 0
  /// The offset in the text of the chunk's first byte, and of the current line's.
  var base = 0
  var lineStart = 0
  var state = State.start
  /// Whether each open container is an object, outermost first.
  var stack: [Bool] = []
  /// The token that crosses a chunk's border or holds escapes.
  var scratch: [UInt8] = []
  private var failure: JSONError?

  /// The line of the last event's first byte, counted from 1.
  public internal(set) var line = 1
  /// The offset in bytes of the last event's first byte.
  public internal(set) var offset = 0
  /// Whether the last number was written as an integer that no 64 bits hold, and so was given as a double.
  package internal(set) var isLargeInteger = false
  /// The column in UTF-8 bytes of the last event's first byte, counted from 1.
  public var column: Int { offset - lineStart + 1 }
  /// How many arrays and objects are open.
  public var depth: Int { stack.count }
  /// How many bytes of the text have been read.
  public var bytesRead: Int { base + position }

  /// Reads a text that is in memory.
  /// - Parameters:
  ///   - bytes: The text in UTF-8.
  ///   - limits: The limits of reading.
  public init(bytes: [UInt8], limits: Limits = Limits()) {
    self.buffer = bytes
    self.limits = limits
  }

  /// Reads a text that comes in chunks of any size; a token may cross their borders anywhere.
  /// - Parameters:
  ///   - limits: The limits of reading.
  ///   - chunks: Appends the next bytes to an empty buffer, whose capacity is kept from call to
  ///     call, and returns false when no more follow. Its errors end up in ``JSONError/cause``.
  public init(
    limits: Limits = Limits(), chunks: @escaping (_ buffer: inout [UInt8]) throws -> Bool
  ) {
    self.buffer = []
    self.source = chunks
    self.limits = limits
  }

  /// Reads the next event.
  /// - Returns: The event, or nil once the text has ended as it should.
  /// - Throws: ``JSONError`` when the text breaks the grammar or a limit, and with the code
  ///   `source` when the source of the chunks fails.
  public mutating func next() throws(JSONError) -> JSONEvent? {
    if let failure { throw failure }
    do throws(JSONError) {
      return try step()
    } catch {
      failure = error
      throw error
    }
  }

  private mutating func step() throws(JSONError) -> JSONEvent? {
    if state == .start {
      try skipByteOrderMark()
      state = .value
    }
    while true {
      guard let byte = try nextToken() else {
        if state == .done { return nil }
        throw endOfText()
      }
      switch state {
      case .afterValue:
        if byte == UInt8(ascii: ",") {
          position += 1
          state = stack.last == true ? .key : .value
        } else {
          return try close(byte)
        }
      case .colon:
        guard byte == UInt8(ascii: ":") else { throw unexpected(byte, wanted: "':'") }
        position += 1
        state = .value
      case .firstKey where byte == UInt8(ascii: "}"), .firstElement where byte == UInt8(ascii: "]"):
        return try close(byte)
      case .key, .firstKey:
        guard byte == JSONBytes.quote else {
          throw unexpected(byte, wanted: "a key in double quotes")
        }
        state = .colon
        return .key(try readString())
      case .value, .firstElement:
        return try readValue(byte)
      case .done:
        throw error(
          .trailingText, at: offset,
          "more text follows the value; keep one JSON value to a document")
      case .start:
        state = .value
      }
    }
  }

  private mutating func readValue(_ byte: UInt8) throws(JSONError) -> JSONEvent {
    switch byte {
    case UInt8(ascii: "{"):
      try open(object: true)
      return .beginObject
    case UInt8(ascii: "["):
      try open(object: false)
      return .beginArray
    case JSONBytes.quote:
      let text = try readString()
      endValue()
      return .string(text)
    case UInt8(ascii: "t"):
      try readLiteral("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try readLiteral("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try readLiteral("null")
      return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      let event = try readNumber()
      endValue()
      return event
    default:
      throw unexpected(byte, wanted: "a value")
    }
  }

  private mutating func open(object: Bool) throws(JSONError) {
    guard stack.count < limits.depth else {
      throw error(
        .tooDeep, at: offset,
        "more than \(limits.depth) arrays and objects are nested; flatten the data or raise "
          + "the reader's depth limit")
    }
    stack.append(object)
    position += 1
    state = object ? .firstKey : .firstElement
  }

  private mutating func close(_ byte: UInt8) throws(JSONError) -> JSONEvent {
    let object = stack.last == true
    guard byte == (object ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
      throw unexpected(byte, wanted: object ? "',' or '}'" : "',' or ']'")
    }
    stack.removeLast()
    position += 1
    endValue()
    return object ? .endObject : .endArray
  }

  func expectation() -> String {
    switch state {
    case .start, .value: "a value"
    case .firstElement: "a value or ']'"
    case .firstKey: "a key or '}'"
    case .key: "a key"
    case .colon: "':'"
    case .afterValue: stack.last == true ? "',' or '}'" : "',' or ']'"
    case .done: "nothing"
    }
  }

  mutating func endValue() {
    state = stack.isEmpty ? .done : .afterValue
  }
}
