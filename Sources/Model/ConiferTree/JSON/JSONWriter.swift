/// A writer of JSON, compact or indented, into memory or in pieces into a sink.
///
/// The caller's calls must nest as the text does: the writer places commas, colons and indents, but
/// does not check that each container is closed and each key has a value. When the sink fails,
/// what follows is dropped and ``finish()`` throws.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.key("answer")
/// writer.integer(42)
/// writer.endObject()
/// print(String(decoding: writer.bytes, as: UTF8.self))  // {"answer":42}
/// ```
public struct JSONWriter {
  /// The text that no sink has taken yet: without a sink, all of it.
  public private(set) var bytes: [UInt8] = []
  /// The error of the sink; nothing is written any more once it is set.
  public private(set) var failure: JSONError?

  /// Whether a whole double below 2^53 is written with a fraction, so that it comes back as a double.
  package var marksDoubles = false

  private let pretty: Bool
  private let threshold: Int
  private let sink: (([UInt8]) throws -> Void)?
  private var depth = 0
  private var needsComma = false
  private var afterKey = false

  /// Makes a writer.
  /// - Parameters:
  ///   - pretty: Whether to write each member on its own line, indented by two spaces a level.
  ///   - chunkSize: About how many bytes the sink gets at once.
  ///   - sink: Takes the text piece by piece; without it, the text collects in ``bytes``.
  public init(
    pretty: Bool = false, chunkSize: Int = 64 << 10, sink: (([UInt8]) throws -> Void)? = nil
  ) {
    self.pretty = pretty
    self.threshold = max(1, chunkSize)
    self.sink = sink
  }

  /// Hands the rest of the text to the sink.
  /// - Throws: ``JSONError`` with the code `sink` if the sink failed now or before.
  public mutating func finish() throws(JSONError) {
    flush()
    if let failure { throw failure }
  }

  /// Writes one event of a reader.
  /// - Parameter event: The event.
  public mutating func write(_ event: JSONEvent) {
    switch event {
    case .beginObject: beginObject()
    case .key(let key): self.key(key)
    case .endObject: endObject()
    case .beginArray: beginArray()
    case .endArray: endArray()
    case .string(let text): string(text)
    case .integer(let value): integer(value)
    case .double(let value): double(value)
    case .bool(let value): bool(value)
    case .null: null()
    }
  }

  /// Opens an object.
  public mutating func beginObject() { open(UInt8(ascii: "{")) }
  /// Closes the innermost object.
  public mutating func endObject() { close(UInt8(ascii: "}")) }
  /// Opens an array.
  public mutating func beginArray() { open(UInt8(ascii: "[")) }
  /// Closes the innermost array.
  public mutating func endArray() { close(UInt8(ascii: "]")) }

  /// Writes the key of the member that follows.
  /// - Parameter key: The key, unescaped.
  public mutating func key(_ key: String) {
    var key = key
    key.withUTF8 { self.key(utf8: $0) }
  }

  /// Writes the key of the member that follows.
  /// - Parameter key: The key, unescaped, in well-formed UTF-8.
  public mutating func key(utf8 key: UnsafeBufferPointer<UInt8>) {
    separate()
    append(quoted: key)
    bytes.append(UInt8(ascii: ":"))
    if pretty { bytes.append(UInt8(ascii: " ")) }
    afterKey = true
  }

  /// Writes a string.
  /// - Parameter text: The string, unescaped.
  public mutating func string(_ text: String) {
    separate()
    var text = text
    text.withUTF8 { append(quoted: $0) }
    endValue()
  }

  /// Writes an integer.
  /// - Parameter value: The integer.
  public mutating func integer(_ value: Int64) {
    separate()
    JSONNumber.append(value, to: &bytes)
    endValue()
  }

  /// Writes the shortest text that reads back as the same double.
  ///
  /// Whole numbers below 2^53 are written without a fraction, as the clients of the Realtime
  /// Database do, and so come back as integers of the same value; larger ones come back as doubles.
  /// - Parameter value: The number; what is not finite becomes `null`.
  public mutating func double(_ value: Double) {
    separate()
    JSONNumber.append(value, to: &bytes)
    if marksDoubles, JSONNumber.isWritten(asInteger: value) { bytes.append(contentsOf: ".0".utf8) }
    endValue()
  }

  /// Writes `true` or `false`.
  /// - Parameter value: The truth.
  public mutating func bool(_ value: Bool) {
    separate()
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
    endValue()
  }

  /// Writes `null`.
  public mutating func null() {
    separate()
    bytes.append(contentsOf: "null".utf8)
    endValue()
  }

  private mutating func open(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    depth += 1
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    depth -= 1
    // An empty container stays on one line.
    if needsComma { breakLine() }
    bytes.append(bracket)
    endValue()
  }

  private mutating func separate() {
    if afterKey {
      afterKey = false
      return
    }
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    if depth > 0 { breakLine() }
  }

  private mutating func endValue() {
    needsComma = true
    if bytes.count >= threshold { flush() }
  }

  private mutating func breakLine() {
    guard pretty else { return }
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * max(0, depth)))
  }

  private mutating func flush() {
    guard let sink else { return }
    if failure == nil, !bytes.isEmpty {
      do {
        try sink(bytes)
      } catch {
        failure = JSONError(
          code: .sink, line: 0, column: 0,
          message: "the text could not be written; what was written so far is cut short",
          cause: error)
      }
    }
    bytes.removeAll(keepingCapacity: true)
  }

  private mutating func append(quoted text: UnsafeBufferPointer<UInt8>) {
    bytes.append(JSONBytes.quote)
    var index = 0
    while index < text.count {
      let end = JSONBytes.endOfPlain(text, from: index)
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[index..<end]))
      if end < text.count { append(escaped: text[end]) }
      index = end + 1
    }
    bytes.append(JSONBytes.quote)
  }

  private mutating func append(escaped byte: UInt8) {
    bytes.append(JSONBytes.backslash)
    switch byte {
    case 0x08: bytes.append(UInt8(ascii: "b"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0C: bytes.append(UInt8(ascii: "f"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case ..<0x20:
      let digits = String(byte, radix: 16)
      bytes.append(contentsOf: (byte < 16 ? "u000" : "u00").utf8)
      bytes.append(contentsOf: digits.utf8)
    default: bytes.append(byte)
    }
  }
}
