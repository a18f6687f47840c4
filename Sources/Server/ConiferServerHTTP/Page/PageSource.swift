import ConiferTree

/// The data of the page: a server's databases, or a client's store.
///
/// A space is a database of the server, or a tree of the store.
protocol PageSource: Sendable {
  /// The page's title, spaces and tables.
  func facts() throws -> PageFacts
  /// The counts and the version of a space. Called several times a second, so it must be cheap.
  func pulse(of space: String) throws -> PagePulse
  /// Nodes with a part of their children, all from one state.
  func windows(_ wanted: [PageWindow.Wanted], in space: String) throws -> [PageWindow]
  /// The first rows of a table; nil when there is no such table.
  func table(_ name: String, in space: String, limit: Int) throws -> PageTable?
  /// The node at a path as JSON in export form, in one line or indented.
  func export(_ path: Path, in space: String, pretty: Bool) throws -> [UInt8]
}

/// Why the page's request is refused.
struct PageRefusal: Error {
  let status: Int
  let message: String

  init(_ status: Int, _ message: String) {
    self.status = status
    self.message = message
  }
}

/// The page's title, spaces and tables.
struct PageFacts {
  /// A table of the page: its name in requests, and its title.
  typealias Table = (name: String, title: String)

  /// The page's title.
  var title: String
  /// Whether data may be changed, by REST.
  var isWritable: Bool
  /// The spaces to choose from.
  var spaces: [String]
  /// The space that is shown first.
  var first: String
  /// The space that the page begins with, if that is another one.
  var begins: String?
  /// The word for a space.
  var spaceWord: String
  /// The tables beside the tree.
  var tables: [Table]
  /// The databases of documents, which the page reads and changes by their REST API; nil where there is none.
  var databases: [String]?

  var json: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("title", title)
    writer.key("writable")
    writer.bool(isWritable)
    writer.key("spaces")
    writer.beginArray()
    for space in spaces { writer.string(space) }
    writer.endArray()
    writer.member("first", first)
    writer.member("begins", begins ?? first)
    writer.member("word", spaceWord)
    writer.key("tables")
    writer.beginArray()
    for table in tables {
      writer.beginObject()
      writer.member("name", table.name)
      writer.member("title", table.title)
      writer.endObject()
    }
    writer.endArray()
    if let databases {
      writer.key("databases")
      writer.beginArray()
      for database in databases { writer.string(database) }
      writer.endArray()
    }
    writer.endObject()
    return writer.bytes
  }
}

/// The counts and the version of a space.
struct PagePulse {
  /// The time in milliseconds since 1970.
  var now: Int64
  /// Changes when the data changes.
  var version: Int
  /// How many spaces there are.
  var spaceCount: Int
  /// The counts, by name.
  var counts: [(name: String, count: Int)] = []

  var json: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("now", now)
    writer.member("version", Int64(version))
    writer.member("spaces", Int64(spaceCount))
    for (name, count) in counts { writer.member(name, Int64(count)) }
    writer.endObject()
    return writer.bytes
  }
}

extension JSONWriter {
  mutating func member(_ name: String, _ text: String) {
    key(name)
    string(text)
  }

  mutating func member(_ name: String, _ number: Int64) {
    key(name)
    integer(number)
  }

  mutating func member(_ name: String, _ flag: Bool) {
    key(name)
    bool(flag)
  }
}
