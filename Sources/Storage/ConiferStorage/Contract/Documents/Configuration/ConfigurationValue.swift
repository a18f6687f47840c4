import ConiferKeyValue
import ConiferTree

/// A value of a configuration's JSON with its place in the text, so that errors can name it.
struct ConfigurationValue {
  indirect enum Content {
    case object([(key: String, value: Content)])
    case array([Content])
    case string(String)
    /// A number, a boolean or null, as words.
    case other(String)
  }

  /// Such as `indexes[2].fields[0].order`; empty for the whole text.
  let place: String
  let content: Content

  private init(_ place: String, _ content: Content) {
    self.place = place
    self.content = content
  }

  /// Reads a text.
  ///
  /// - Throws: `invalid`.
  init(json: [UInt8]) throws(StoreError) {
    // Whatever means something here is at most six levels deep.
    var reader = JSONReader(bytes: json, limits: JSONReader.Limits(depth: 64))
    do throws(JSONError) {
      guard let content = try Self.content(&reader) else {
        throw JSONError(code: .empty, line: 1, column: 1, message: "there is no value")
      }
      _ = try reader.next()
      self.init("", content)
    } catch {
      throw StoreError(
        .invalid,
        "The index configuration is no JSON at line \(error.line), column \(error.column): "
          + "\(error.message). Export it again, or mend it there.", cause: error.description)
    }
  }

  /// Reads a value; nil at the end of an array or an object.
  private static func content(_ reader: inout JSONReader) throws(JSONError) -> Content? {
    switch try reader.next() {
    case .string(let text): return .string(text)
    case .beginArray:
      var values: [Content] = []
      while let value = try content(&reader) { values.append(value) }
      return .array(values)
    case .beginObject:
      var members: [(key: String, value: Content)] = []
      while case .key(let key) = try reader.next() {
        if let value = try content(&reader) { members.append((key, value)) }
      }
      return .object(members)
    case .integer(let number): return .other("\(number)")
    case .double(let number): return .other("\(number)")
    case .bool(let flag): return .other("\(flag)")
    case .null: return .other("null")
    case .key, .endObject, .endArray, nil: return nil
    }
  }

  // MARK: Parts

  /// The value of a key; nil when it is not there.
  ///
  /// - Throws: `invalid` when this is no object.
  func member(_ key: String) throws(StoreError) -> ConfigurationValue? {
    guard case .object(let members) = content else { throw refused("must be an object") }
    let member = members.last { $0.key == key }
    return member.map { ConfigurationValue(place.isEmpty ? key : "\(place).\(key)", $0.value) }
  }

  /// The value of a key.
  ///
  /// - Throws: `invalid` when it is not there, or this is no object.
  func required(_ key: String) throws(StoreError) -> ConfigurationValue {
    guard let value = try member(key) else { throw refused("lacks the key \(key)") }
    return value
  }

  /// Checks the keys: a misspelt one would otherwise be passed over, with what it says.
  ///
  /// - Parameter prefix: what other keys may begin with.
  /// - Throws: `invalid` when there is another one, or this is no object.
  func allow(_ known: [String], orPrefix prefix: String? = nil) throws(StoreError) {
    guard case .object(let members) = content else { throw refused("must be an object") }
    let unknown = members.map(\.key).first { key in
      !known.contains(key) && !(prefix.map { key.hasPrefix($0) } ?? false)
    }
    if let unknown {
      throw refused(
        "has the key \"\(unknown)\": it may have \(known.joined(separator: ", ")) alone")
    }
    for key in known where members.count(where: { $0.key == key }) > 1 {
      throw refused("has the key \(key) more than once: keep one of them")
    }
  }

  /// The elements.
  ///
  /// - Throws: `invalid` when this is no array.
  func elements() throws(StoreError) -> [ConfigurationValue] {
    guard case .array(let values) = content else { throw refused("must be an array") }
    return values.enumerated().map { ConfigurationValue("\(place)[\($0.offset)]", $0.element) }
  }

  /// The text.
  ///
  /// - Throws: `invalid` when this is no string.
  func text() throws(StoreError) -> String {
    guard case .string(let text) = content else { throw refused("must be a string") }
    return text
  }

  /// What a word stands for.
  ///
  /// - Throws: `invalid`, naming all words, when it is none of them.
  func word<T>(_ words: KeyValuePairs<String, T>) throws(StoreError) -> T {
    if case .string(let text) = content, let found = words.first(where: { $0.key == text }) {
      return found.value
    }
    throw refused("must be \(words.map(\.key).joined(separator: " or ")), not \(description)")
  }

  /// An error that names the place.
  func refused(_ why: String) -> StoreError {
    StoreError(.invalid, place.isEmpty ? "The index configuration \(why)." : "\(place): \(why)")
  }

  private var description: String {
    switch content {
    case .object: "an object"
    case .array: "an array"
    case .string(let text): "\"\(text)\""
    case .other(let words): words
    }
  }
}
