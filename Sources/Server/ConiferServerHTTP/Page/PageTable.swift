import ConiferQuery
import ConiferTree

/// A table of the page.
struct PageTable {
  /// The content of one cell.
  enum Cell {
    case text(String)
    case number(Int)
    case bytes(Int)
    /// A time, in milliseconds since 1970.
    case time(Int64)
    /// A place in the tree, with a description.
    case place(Path, String)
    /// Some of a number of items; nil when the number is unknown.
    case list([Cell], of: Int?)
    case none
  }

  var now: Int64
  var columns: [String]
  var rows: [[Cell]] = []
  /// Whether there are rows beyond these.
  var hasMore = false
  /// The text of a table without rows.
  var empty: String

  var json: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("now", now)
    writer.key("columns")
    writer.beginArray()
    for column in columns { writer.string(column) }
    writer.endArray()
    writer.key("rows")
    writer.beginArray()
    for row in rows {
      writer.beginArray()
      for cell in row { cell.write(to: &writer) }
      writer.endArray()
    }
    writer.endArray()
    writer.member("more", hasMore)
    writer.member("empty", empty)
    writer.endObject()
    return writer.bytes
  }
}

extension PageTable.Cell {
  func write(to writer: inout JSONWriter) {
    switch self {
    case .text(let text): writer.string(text)
    case .number(let number): writer.integer(Int64(number))
    case .none: writer.null()
    case .bytes(let count):
      writer.beginObject()
      writer.member("bytes", Int64(count))
      writer.endObject()
    case .time(let time):
      writer.beginObject()
      writer.member("time", time)
      writer.endObject()
    case .place(let path, let words):
      writer.beginObject()
      writer.member("path", path.description)
      writer.member("words", words)
      writer.endObject()
    case .list(let cells, let count):
      writer.beginObject()
      writer.key("list")
      writer.beginArray()
      for cell in cells { cell.write(to: &writer) }
      writer.endArray()
      if let count { writer.member("of", Int64(count)) }
      writer.endObject()
    }
  }
}

extension QuerySpec {
  /// The query in the terms of Firebase's SDKs; empty for all data.
  var words: String {
    if isDefault { return "" }
    var words = ["orderBy \(index.description)"]
    func value(_ bound: Bound) -> String {
      var text = String(decoding: (bound.value.map { Node($0) } ?? .empty).json(), as: UTF8.self)
      if let key = bound.key { text += " \(key.string)" }
      return text
    }
    if let start { words.append("\(start.inclusive ? "startAt" : "startAfter") \(value(start))") }
    if let end { words.append("\(end.inclusive ? "endAt" : "endBefore") \(value(end))") }
    if let limit {
      words.append("\(limit.side == .first ? "limitToFirst" : "limitToLast") \(limit.count)")
    }
    return words.joined(separator: ", ")
  }
}
