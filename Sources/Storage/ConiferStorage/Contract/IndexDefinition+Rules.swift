public import ConiferKeyValue
import ConiferQuery
import ConiferTree

extension IndexDefinition {
  /// The indexes that the `.indexOn` entries of database rules declare: one over each name, `.value`,
  /// or `.priority`, of the children of the place where the entry stands.
  ///
  /// Comments and trailing commas are taken as rules files have them. A name `.key` declares nothing,
  /// since children are stored by key. Source: the Realtime Database's rules reference, "indexOn".
  ///
  /// - Parameter rules: the rules in UTF-8: a JSON object whose member `rules` is the tree of rules,
  ///   in which a key that begins with `$` stands for any.
  /// - Returns: the indexes in the order of the file, each once.
  /// - Throws: `invalid`, naming line and column (the text is no JSON, holds no rules, or an entry is
  ///   neither a string nor an array of strings, or no index).
  public static func parse(rules: [UInt8]) throws(StoreError) -> [IndexDefinition] {
    var reader = RulesReader(JSONReader(bytes: RulesReader.plain(rules)))
    return try reader.read()
  }
}

/// Goes through the JSON of database rules.
private struct RulesReader {
  private var json: JSONReader
  private var found: [IndexDefinition] = []

  init(_ json: JSONReader) { self.json = json }

  mutating func read() throws(StoreError) -> [IndexDefinition] {
    var hasRules = false
    guard try next() == .beginObject else { throw failure("rules are a JSON object") }
    while case .key(let name) = try next() {
      if name == "rules" {
        hasRules = true
        guard try next() == .beginObject else { throw failure("\"rules\" is a JSON object") }
        try readObject(at: [])
      } else {
        try skip()
      }
    }
    // Reads on to the end, so that text behind the rules is refused.
    _ = try event()
    guard hasRules else { throw failure("the object has no member \"rules\"") }
    return found
  }

  /// Reads the rules of a place, behind the brace that opens them.
  private mutating func readObject(at start: [Key]) throws(StoreError) {
    var path = start
    while path.count >= start.count {
      switch try next() {
      case .endObject:
        guard path.count > start.count else { return }
        path.removeLast()
      case .key(".indexOn"): try readIndex(at: Path(path))
      case .key(let name) where name.utf8.first == UInt8(ascii: "."): try skip()
      case .key(let name):
        guard try next() == .beginObject else {
          throw failure("the rules of \"\(name)\" are a JSON object")
        }
        path.append(Key(name))
      default: throw failure("rules are JSON objects")
      }
    }
  }

  private mutating func readIndex(at path: Path) throws(StoreError) {
    switch try next() {
    case .string(let name): try add(name, at: path)
    case .beginArray:
      while true {
        switch try next() {
        case .string(let name): try add(name, at: path)
        case .endArray: return
        default: throw failure("\".indexOn\" at \(path) lists names as strings")
        }
      }
    default: throw failure("\".indexOn\" at \(path) is a string or an array of strings")
    }
  }

  private mutating func add(_ name: String, at path: Path) throws(StoreError) {
    let index: QueryIndex
    switch name {
    case ".key": return
    case ".value": index = .value
    case ".priority": index = .priority
    default: index = .child(Path(name))
    }
    let definition: IndexDefinition
    do throws(StoreError) {
      definition = try IndexDefinition(path, by: index)
    } catch {
      throw failure("\".indexOn\" at \(path) names \"\(name)\": \(error.message)")
    }
    if !found.contains(definition) { found.append(definition) }
  }

  /// Passes over a value.
  private mutating func skip() throws(StoreError) {
    let depth = json.depth
    repeat { _ = try next() } while json.depth > depth
  }

  private mutating func next() throws(StoreError) -> JSONEvent {
    guard let event = try event() else { throw failure("the text ends within the rules") }
    return event
  }

  private mutating func event() throws(StoreError) -> JSONEvent? {
    do throws(JSONError) {
      return try json.next()
    } catch {
      throw StoreError(.invalid, "The rules are no JSON: \(error)")
    }
  }

  private func failure(_ words: String) -> StoreError {
    StoreError(
      .invalid,
      "In the database rules, line \(json.line), column \(json.column): \(words).")
  }

  /// The text with comments and trailing commas as spaces, so that places stay where they are.
  static func plain(_ bytes: [UInt8]) -> [UInt8] {
    let (slash, star, quote) = (UInt8(ascii: "/"), UInt8(ascii: "*"), UInt8(ascii: "\""))
    let (backslash, newline, space) = (UInt8(ascii: "\\"), UInt8(ascii: "\n"), UInt8(ascii: " "))
    var text = bytes
    var at = 0
    var comma: Int?
    func blank(_ range: Range<Int>) {
      for index in range where text[index] != newline { text[index] = space }
    }
    while at < text.count {
      switch text[at] {
      case quote:
        comma = nil
        at += 1
        while at < text.count, text[at] != quote { at += text[at] == backslash ? 2 : 1 }
        at += 1
      case slash where at + 1 < text.count && text[at + 1] == slash:
        let end = text[at...].firstIndex(of: newline) ?? text.count
        blank(at..<end)
        at = end
      case slash where at + 1 < text.count && text[at + 1] == star:
        var end = at + 2
        while end < text.count, !(text[end] == slash && text[end - 1] == star && end > at + 2) {
          end += 1
        }
        // A comment without an end is left for the reader to refuse.
        guard end < text.count else { return text }
        blank(at..<(end + 1))
        at = end + 1
      case UInt8(ascii: ","):
        comma = at
        at += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if let comma { text[comma] = space }
        comma = nil
        at += 1
      case space, newline, 0x09, 0x0D: at += 1
      default:
        comma = nil
        at += 1
      }
    }
    return text
  }
}
