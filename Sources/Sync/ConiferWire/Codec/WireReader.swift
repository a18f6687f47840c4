import ConiferQuery
import ConiferTree

/// Reads the text of one message value by value.
///
/// A copy is cheap and continues at the same place. So a member whose meaning depends on a later one
/// is skipped, and read from the copy afterwards.
struct WireReader {
  /// How deep arrays and objects may be nested. It is far more than a tree's 32 levels and the envelope,
  /// so that a write nested too deeply is refused as a write, and does not end the connection.
  static let depth = 256

  private let bytes: [UInt8]
  private var reader: JSONReader
  /// Why a value could not be read as a node; the value was skipped.
  private(set) var invalid: String?

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    reader = JSONReader(
      bytes: bytes, limits: JSONReader.Limits(depth: Self.depth, replacesLoneSurrogates: true))
  }

  private mutating func next() throws(WireError) -> JSONEvent {
    do throws(JSONError) {
      if let event = try reader.next() { return event }
    } catch {
      throw WireError(error)
    }
    throw WireError(.malformed, "The text of a message ends too early.")
  }

  /// Checks that nothing follows.
  mutating func end() throws(WireError) {
    do throws(JSONError) { _ = try reader.next() } catch { throw WireError(error) }
  }

  /// Reads an object, or null as one without members.
  ///
  /// - Parameter take: reads the whole value of a member.
  mutating func object(
    _ take: (inout WireReader, String) throws(WireError) -> Void
  ) throws(WireError) {
    switch try next() {
    case .null: return
    case .beginObject: try members(take)
    default: throw Self.wrong("an object")
    }
  }

  /// Reads the members of an object that was begun.
  private mutating func members(
    _ take: (inout WireReader, String) throws(WireError) -> Void
  ) throws(WireError) {
    while case .key(let name) = try next() { try take(&self, name) }
  }

  /// Reads a string; nil for null.
  mutating func string() throws(WireError) -> String? {
    switch try next() {
    case .string(let text): return text
    case .null: return nil
    default: throw Self.wrong("a string")
    }
  }

  /// Reads a whole number; nil for null.
  mutating func integer() throws(WireError) -> Int64? {
    switch try next() {
    case .integer(let value): return value
    case .double(let value):
      guard let whole = Int64(exactly: value) else { throw Self.wrong("a whole number") }
      return whole
    case .null: return nil
    default: throw Self.wrong("a whole number")
    }
  }

  /// Reads a boolean; null is false.
  mutating func bool() throws(WireError) -> Bool {
    switch try next() {
    case .bool(let flag): return flag
    case .null: return false
    default: throw Self.wrong("true or false")
    }
  }

  /// Reads any value as a node. A value that no tree can hold becomes the empty node and sets
  /// `invalid`.
  mutating func node() throws(WireError) -> Node {
    let start = self
    var builder = NodeBuilder()
    while !builder.isComplete {
      do throws(JSONError) {
        if try !builder.advance(&reader) { break }
      } catch {
        guard error.code == .invalidTree else { throw WireError(error) }
        self = start
        try skip()
        invalid = error.message
        return .empty
      }
    }
    return builder.node ?? .empty
  }

  /// Reads any value as a node; nil for null, but not for an object without members.
  mutating func optionalNode() throws(WireError) -> Node? {
    var copy = self
    guard case .null = try copy.next() else { return try node() }
    self = copy
    return nil
  }

  /// Reads nodes by their relative paths; null deletes.
  mutating func changes() throws(WireError) -> [NodeChange] {
    var changes: [NodeChange] = []
    try object { (reader, name) throws(WireError) in
      changes.append(NodeChange(Path(name), try reader.node()))
    }
    return changes
  }

  /// Reads a list of strings; null is an empty list.
  mutating func strings() throws(WireError) -> [String] {
    var texts: [String] = []
    switch try next() {
    case .null: return []
    case .beginArray: break
    default: throw Self.wrong("a list of strings")
    }
    while true {
      switch try next() {
      case .string(let text): texts.append(text)
      case .endArray: return texts
      default: throw Self.wrong("a list of strings")
      }
    }
  }

  /// Reads the ranges of a range merge.
  mutating func ranges() throws(WireError) -> [RangeMerge] {
    var ranges: [RangeMerge] = []
    switch try next() {
    case .null: return []
    case .beginArray: break
    default: throw Self.wrong("a list of ranges")
    }
    while true {
      switch try next() {
      case .beginObject: ranges.append(try range())
      case .endArray: return ranges
      default: throw Self.wrong("a list of ranges")
      }
    }
  }

  private mutating func range() throws(WireError) -> RangeMerge {
    var start: Path?
    var end: Path?
    var node = Node.empty
    try members { (reader, name) throws(WireError) in
      switch name {
      case "s": start = try reader.string().map { Path($0) }
      case "e": end = try reader.string().map { Path($0) }
      case "m": node = try reader.node()
      default: try reader.skip()
      }
    }
    return RangeMerge(start: start, end: end, node: node)
  }

  /// Reads hashes of ranges; nil when they are invalid, since a listen works without them.
  mutating func compoundHash() throws(WireError) -> CompoundHash? {
    var hashes: [String] = []
    var paths: [String] = []
    try object { (reader, name) throws(WireError) in
      switch name {
      case "hs": hashes = try reader.strings()
      case "ps": paths = try reader.strings()
      default: try reader.skip()
      }
    }
    return CompoundHash(paths: paths.map { Path($0) }, hashes: hashes)
  }

  /// Reads whole numbers by their names, and skips other values.
  mutating func counters() throws(WireError) -> [String: Int] {
    var counters: [String: Int] = [:]
    try object { (reader, name) throws(WireError) in
      let number = try reader.node().leaf?.number
      if let number, let count = Int(exactly: number) { counters[name] = count }
    }
    return counters
  }

  /// Reads a query, or a list of one query; nil for null, and a failure for an invalid one.
  mutating func query() throws(WireError) -> Result<QuerySpec, TreeError>? {
    var copy = self
    switch try copy.next() {
    case .null:
      self = copy
      return nil
    case .beginArray:
      self = copy
      if case .endArray = try copy.next() {
        self = copy
        return nil
      }
      var query = try spec()
      while true {
        copy = self
        if case .endArray = try copy.next() { break }
        try skip()
        query = Self.noQuery
      }
      self = copy
      return query
    default: return try spec()
    }
  }

  private static var noQuery: Result<QuerySpec, TreeError> {
    .failure(TreeError(.invalidQuery, "A query is one JSON object of members."))
  }

  private mutating func spec() throws(WireError) -> Result<QuerySpec, TreeError> {
    var copy = self
    guard case .beginObject = try copy.next() else {
      try skip()
      return Self.noQuery
    }
    let start = copy.reader.offset
    try skip()
    // In a query a null bound differs from no bound; a node cannot represent the difference.
    let json = Array(bytes[start..<reader.bytesRead])
    do throws(TreeError) {
      return .success(try QuerySpec(json: json))
    } catch {
      return .failure(error)
    }
  }

  /// Skips any value.
  mutating func skip() throws(WireError) {
    var open = 0
    repeat {
      switch try next() {
      case .beginObject, .beginArray: open += 1
      case .endObject, .endArray: open -= 1
      default: break
      }
    } while open > 0
  }

  private static func wrong(_ wanted: String) -> WireError {
    WireError(.malformed, "A member of a message is not \(wanted).")
  }
}

extension WireError {
  init(_ error: JSONError) {
    switch error.code {
    case .tooDeep, .tooLong: self.init(.tooLarge, "A message is too large: \(error.code).")
    // The messages of other errors may quote data.
    default:
      self.init(
        .malformed,
        "A message is no JSON of the protocol: \(error.code) at byte \(error.column).")
    }
  }
}
