import ConiferDocument
import ConiferTree

/// Reads a bundle's elements: each is the number of its bytes in decimal digits, and JSON.
package struct BundleReader {
  private let bytes: [UInt8]
  /// How many bytes were read.
  package private(set) var position = 0

  /// A reader of a bundle that is in memory.
  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The most digits of a length.
  private static let longestLength = 10

  /// The next element; nil at the end.
  ///
  /// - Throws: `invalidArgument` for bytes that are no bundle, with the place.
  package mutating func next() throws(StatusError) -> BundleElement? {
    guard position < bytes.count else { return nil }
    let start = position
    var length = 0
    var place = position
    while place < bytes.count, bytes[place] >= UInt8(ascii: "0"), bytes[place] <= UInt8(ascii: "9")
    {
      guard place - start < Self.longestLength else { throw refused("The length is too long.") }
      length = length * 10 + Int(bytes[place] - UInt8(ascii: "0"))
      place += 1
    }
    guard place > start else { throw refused("An element begins with its length in digits.") }
    guard length <= bytes.count - place else {
      throw refused("The element has \(length) bytes, and \(bytes.count - place) are left.")
    }
    let element: BundleElement
    do throws(JSONError) {
      element = try Self.element(Array(bytes[place..<place + length]))
    } catch {
      throw refused("The element cannot be read: \(error)")
    }
    position = place + length
    return element
  }

  private func refused(_ why: String) -> StatusError {
    StatusError(
      .invalidArgument,
      "The bundle is damaged at byte \(position). \(why) Load one that the server made.")
  }

  private static func element(_ json: [UInt8]) throws(JSONError) -> BundleElement {
    var reader = DocumentJSONReader(json)
    var element: BundleElement?
    try reader.members("An element") { (reader, key) throws(JSONError) in
      guard element == nil else { throw reader.refused("An element has one key.") }
      switch key {
      case "metadata": element = .metadata(try reader.bundleMetadata())
      case "namedQuery": element = .namedQuery(try reader.namedQuery())
      case "documentMetadata": element = .documentMetadata(try reader.documentMetadata())
      case "document":
        let document = try reader.document(try reader.next())
        guard let name = document.name else { throw reader.refused("A document has a name.") }
        let updateTime = document.updateTime ?? .zero
        guard document.createTime ?? .zero <= updateTime else {
          throw reader.refused("A document is made before it is changed.")
        }
        element = .document(name, document.fields, updateTime: updateTime)
      default: throw reader.refused("Nobody knows the element \(key).")
      }
    }
    try reader.end()
    guard let element else { throw reader.refused("An element has one key.") }
    return element
  }
}

extension DocumentJSONReader {
  fileprivate mutating func bundleMetadata() throws(JSONError) -> BundleElement.Metadata {
    var metadata = BundleElement.Metadata()
    try members("A bundle's metadata") { (reader, key) throws(JSONError) in
      switch key {
      case "id": metadata.id = try reader.text(key)
      case "createTime": metadata.createTime = try reader.time(key)
      case "totalDocuments": metadata.documents = Int(clamping: try reader.integer())
      case "totalBytes": metadata.bytes = Int(clamping: try reader.integer())
      default: _ = try reader.plain(try reader.next())
      }
    }
    return metadata
  }

  fileprivate mutating func namedQuery() throws(JSONError) -> BundleElement.NamedQuery {
    var (name, query): (String?, DocumentQuery?)
    var readTime = Timestamp.zero
    try members("A named query") { (reader, key) throws(JSONError) in
      switch key {
      case "name": name = try reader.text(key)
      case "readTime": readTime = try reader.time(key)
      case "bundledQuery": query = try reader.bundledQuery()
      default: _ = try reader.plain(try reader.next())
      }
    }
    guard let name, let query else { throw refused("A named query has a name and a query.") }
    return BundleElement.NamedQuery(name: name, readTime: readTime, query: query)
  }

  fileprivate mutating func documentMetadata() throws(JSONError)
    -> BundleElement.DocumentMetadata
  {
    var name: DocumentName?
    var readTime = Timestamp.zero
    var exists = false
    var queries: [String] = []
    try members("A document's metadata") { (reader, key) throws(JSONError) in
      switch key {
      case "name":
        let text = try reader.text(key)
        name = try reader.checked { () throws(DocumentError) in try DocumentName(text) }
      case "readTime": readTime = try reader.time(key)
      case "exists": exists = try reader.next() == .bool(true)
      case "queries":
        guard case .array(let names) = try reader.plain(try reader.next()) else { return }
        for case .string(let name) in names { queries.append(name) }
      default: _ = try reader.plain(try reader.next())
      }
    }
    guard let name else { throw refused("A document's metadata has its name.") }
    return BundleElement.DocumentMetadata(
      name: name, readTime: readTime, exists: exists, queries: queries)
  }
}
