import ConiferDocument
import ConiferTree
import ConiferWire

/// Reads documents in the REST form one after the other: of a JSON array, or one a line.
struct DocumentStream {
  /// The longest line: a document of 1 MiB in its longest text, with room.
  private static let longestLine = 32 << 20
  private static let chunk = 1 << 18

  private enum Form {
    case unread
    /// The elements of an array.
    case array(DocumentJSONReader)
    /// Lines: how many were read.
    case lines(Int)
    case done
  }

  private let source: (inout [UInt8]) throws -> Bool
  private var form = Form.unread
  /// What was read and is no part of a document yet, from the next line's first byte on.
  private var buffer: [UInt8] = []
  private var begin = 0
  private var isAtEnd = false
  /// How many bytes were read.
  private(set) var bytesRead = 0

  /// Reads an open file or pipe.
  init(_ descriptor: Int32) {
    source = { try Platform.read(descriptor, atMost: Self.chunk, into: &$0) }
  }

  /// The next document; nil behind the last one.
  ///
  /// - Throws: `JSONError` with line and column.
  mutating func next() throws -> DocumentJSONReader.Typed? {
    if case .unread = form { form = try begun() }
    switch form {
    case .unread, .done: return nil
    case .array(var reader):
      form = .done
      let event = try reader.next()
      bytesRead = reader.json.bytesRead
      guard event != .endArray else {
        try reader.end()
        return nil
      }
      let document = try reader.document(event)
      form = .array(reader)
      return document
    case .lines(let count):
      form = .done
      guard let (line, number) = try line(after: count) else { return nil }
      form = .lines(number)
      do throws(JSONError) {
        var reader = DocumentJSONReader(line)
        var document = try reader.document(try reader.next())
        try reader.end()
        document.line = number
        return document
      } catch {
        throw JSONError(
          code: error.code, line: number, column: error.column, message: error.message,
          cause: error.cause)
      }
    }
  }

  /// The form that the first byte tells.
  private mutating func begun() throws -> Form {
    var at = 0
    while true {
      while at < buffer.count, buffer[at] <= 0x20 { at += 1 }
      if at < buffer.count || isAtEnd { break }
      try fill()
    }
    guard at < buffer.count else { return .done }
    guard buffer[at] == UInt8(ascii: "[") else { return .lines(0) }
    let (first, source) = (buffer, source)
    var isFirst = true
    var reader = DocumentJSONReader(
      JSONReader(limits: DocumentJSONReader.limits) { chunk in
        if isFirst {
          isFirst = false
          chunk = first
          return true
        }
        return try source(&chunk)
      })
    buffer = []
    _ = try reader.next()
    return .array(reader)
  }

  private mutating func fill() throws {
    let before = buffer.count
    isAtEnd = try !source(&buffer)
    bytesRead += buffer.count - before
  }

  /// The next line that is not empty, and its number.
  private mutating func line(after count: Int) throws -> (line: [UInt8], number: Int)? {
    var number = count
    var searched = begin
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = buffer[begin..<end]
        begin = end + 1
        searched = begin
        number += 1
        if line.contains(where: { $0 > 0x20 }) { return (Array(line), number) }
        continue
      }
      guard !isAtEnd else {
        let line = buffer[begin...]
        begin = buffer.count
        return line.contains { $0 > 0x20 } ? (Array(line), number + 1) : nil
      }
      buffer.removeFirst(begin)
      begin = 0
      searched = buffer.count
      guard searched <= Self.longestLine else {
        throw JSONError(
          code: .tooLong, line: number + 1, column: 1,
          message: "the line is longer than a document can be; write one document a line")
      }
      try fill()
    }
  }
}
