package import ConiferDocument
package import ConiferTree

/// Reads values and documents from JSON: plain, or in the form of Firestore's REST API.
///
/// What breaks a rule of documents is a `JSONError` with the place, whose cause is a `DocumentError`.
package struct DocumentJSONReader {
  /// Deep enough for 20 levels of maps and arrays in the REST form, which writes each as three.
  package static let limits = JSONReader.Limits(depth: 128, stringBytes: 16 << 20)

  /// A document as the REST form has it.
  package struct Typed {
    /// The line and the column where it begins.
    package var line: Int
    package var column: Int
    package var name: DocumentName?
    package var fields = MapValue.empty
    package var createTime: Timestamp?
    package var updateTime: Timestamp?
  }

  package var json: JSONReader
  /// Whether the text is a request. Unknown members are then refused instead of skipped, and null
  /// means that a member is left out.
  package var isStrict = false
  /// Whether the reader only checks if a member is known, and reads nothing.
  private var onlyChecksKeys = false
  private var isUnknown = false

  /// Reads a text that is in memory.
  package init(_ text: [UInt8]) { json = JSONReader(bytes: text, limits: Self.limits) }

  /// Reads with a reader that has read a part already.
  package init(_ json: JSONReader) { self.json = json }

  /// The next event, of which there is one within a value.
  package mutating func next() throws(JSONError) -> JSONEvent {
    if onlyChecksKeys { throw refused("Nothing is read of null.") }
    guard let event = try json.next() else { throw refused("The text ends too early.") }
    return event
  }

  /// Refuses text behind the value.
  package mutating func end() throws(JSONError) { _ = try json.next() }

  /// The error for what stands at the last event.
  package func refused(_ message: String) -> JSONError {
    wrapped(DocumentError(.invalidValue, message))
  }

  /// An error of the model, with the place of the last event.
  func wrapped(_ error: DocumentError) -> JSONError {
    JSONError(
      code: .invalidTree, line: json.line, column: json.column, message: error.message, cause: error
    )
  }

  package func checked<R>(_ body: () throws(DocumentError) -> R) throws(JSONError) -> R {
    do throws(DocumentError) { return try body() } catch { throw wrapped(error) }
  }

  // MARK: Plain JSON

  /// A value whose first event was read: null, booleans, numbers, strings, arrays and maps are what they are.
  package mutating func plain(_ first: JSONEvent) throws(JSONError) -> DocumentValue {
    switch first {
    case .null: return .null
    case .bool(let flag): return .boolean(flag)
    case .integer(let number): return .integer(number)
    case .double(let number):
      guard !json.isLargeInteger else {
        throw refused(
          "An integer has 64 bits at most: write this one with a fraction, as a double, or as a string."
        )
      }
      return .double(number)
    case .string(let text): return .string(text)
    case .beginArray:
      var values: [DocumentValue] = []
      while true {
        let event = try next()
        if event == .endArray { return .array(values) }
        values.append(try plain(event))
      }
    case .beginObject:
      var pairs: [(String, DocumentValue)] = []
      while case .key(let key) = try next() { pairs.append((key, try plain(try next()))) }
      return .map(MapValue(pairs))
    case .key, .endObject, .endArray: throw refused("A value belongs here.")
    }
  }

  // MARK: The members of an object

  /// Reads past a member that nobody knows, or refuses it.
  package mutating func unknown(_ key: String) throws(JSONError) {
    isUnknown = true
    if isStrict { throw refused("Nobody knows \"\(key)\" here. Leave it out.") }
    _ = try plain(try next())
  }

  /// Gives each element of an array, whose first event was read.
  package mutating func elements(
    _ what: String, _ body: (inout DocumentJSONReader, JSONEvent) throws(JSONError) -> Void
  ) throws(JSONError) {
    guard try next() == .beginArray else { throw refused("The value of \(what) is an array.") }
    while true {
      let event = try next()
      if event == .endArray { return }
      try body(&self, event)
    }
  }

  /// Gives each key of an object, whose value the closure reads.
  package mutating func members(
    _ what: String, _ body: (inout DocumentJSONReader, String) throws(JSONError) -> Void
  ) throws(JSONError) {
    guard try next() == .beginObject else { throw refused("\(what) is a JSON object.") }
    try rest(body)
  }

  /// The same for an object that was begun. The closure must change nothing before it has read the
  /// value.
  package mutating func rest(
    _ body: (inout DocumentJSONReader, String) throws(JSONError) -> Void
  ) throws(JSONError) {
    while case .key(let key) = try next() {
      if isStrict, try skipNull() {
        try check(key, body)
      } else {
        try body(&self, key)
      }
    }
  }

  /// Refuses a member that is null, and that nobody knows.
  private func check(
    _ key: String, _ body: (inout DocumentJSONReader, String) throws(JSONError) -> Void
  ) throws(JSONError) {
    var reader = self
    reader.onlyChecksKeys = true
    do throws(JSONError) { try body(&reader, key) } catch {
      if reader.isUnknown { throw error }
    }
  }

  /// Reads past null, if it comes next.
  private mutating func skipNull() throws(JSONError) -> Bool {
    var ahead = json
    guard try ahead.next() == .null else { return false }
    json = ahead
    return true
  }
}
