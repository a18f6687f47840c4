import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Encodes and decodes the rows of documents in one index; it depends only on documents and bytes.
///
/// A row's key is the index's prefix, in scope `.collection` the collection's path, the values in
/// the order of the fields, and the document's name: its id, in scope `.group` its path. None of
/// these is a prefix of another one of its kind, so rows sort by collection, then by values, then
/// by name. A document that lacks one of the fields has no row; `contains` makes a row for each
/// distinct element.
///
/// Values are cut after ``longestValues`` bytes. A row whose values were cut is recognised by an
/// incomplete encoding: among such rows with equal bytes, only the documents show the order. A
/// document whose name is cut shares its row with its neighbours, and the row's record lists the
/// full names.
struct DocumentIndexRows: Sendable {
  /// Collections whose paths take more bytes are not indexed.
  static let longestCollection = 140
  /// How many bytes of its values a row holds.
  static let longestValues = 180
  /// The minimum bytes of a name that a row holds: of an id. A full path also has the bytes of the
  /// collection.
  static let shortestName = 170

  let index: DocumentIndex
  /// The prefix of all rows.
  let prefix: Bytes
  /// Whether a document has one row at most.
  private let isSingle: Bool

  init(_ index: DocumentIndex, prefix: Bytes) {
    self.index = index
    self.prefix = prefix
    isSingle = index.fields.allSatisfy { $0.kind.direction != nil }
  }

  private var longestName: Int {
    index.scope == .collection ? Self.shortestName : Self.shortestName + Self.longestCollection
  }

  // MARK: Writing

  /// The rows of a document.
  func rows(_ document: Document) -> [IndexRow] {
    rows(document, start(document.path.collection))
  }

  /// The rows of a document.
  ///
  /// - Parameter start: the prefix of its collection's rows.
  func rows(_ document: Document, _ start: Bytes?) -> [IndexRow] {
    guard let start, let fields = document.fields else { return [] }
    if isSingle, let row = row(document.path, fields, start) { return row }
    let values = values(fields, start)
    guard !values.isEmpty else { return [] }
    let name = name(document.path)
    let segment = name.count > longestName ? name : nil
    return values.map { IndexRow(key: $0 + name.prefix(longestName), segment: segment) }
  }

  /// The row of a document, or none; nil when something must be cut.
  private func row(_ path: DocumentPath, _ fields: MapValue, _ start: Bytes) -> [IndexRow]? {
    var encoder = OrderedEncoder(start)
    for field in index.fields {
      guard let value = fields[field.path], let direction = field.kind.direction else { return [] }
      encoder.append(value, direction)
    }
    let end = encoder.bytes.count
    append(path, to: &encoder)
    guard end <= start.count + Self.longestValues, encoder.bytes.count <= end + longestName else {
      return nil
    }
    return [IndexRow(key: encoder.bytes, segment: nil)]
  }

  /// Whether a row is one of the document that its name was read to be.
  ///
  /// - Parameter valuesStart: where the row's values begin.
  func hasRow(_ row: Bytes, _ document: Document, valuesStart: Int) -> Bool {
    // In scope `.collection` the row has the collection's path, from which the document's path was read.
    let start =
      index.scope == .collection ? Bytes(row[..<valuesStart]) : start(document.path.collection)
    guard let start, let fields = document.fields else { return false }
    if isSingle, let rows = self.row(document.path, fields, start) {
      return rows.first?.key == row
    }
    let name = name(document.path).prefix(longestName)
    return row.suffix(name.count) == name
      && values(fields, start).contains { row.dropLast(name.count) == $0[...] }
  }

  /// What a document's rows have in front of its name, each once: one row's, but for each element of a field that
  /// contains. Values are cut as they are added, so that long ones are not copied for each element.
  private func values(_ fields: MapValue, _ start: Bytes) -> [Bytes] {
    let longest = start.count + Self.longestValues
    func appending(_ value: Bytes, to row: Bytes) -> Bytes {
      row + value.prefix(longest - row.count)
    }
    var rows = [start]
    for field in index.fields {
      guard let value = fields[field.path] else { return [] }
      if let direction = field.kind.direction {
        let bytes = Self.bytes(value, direction)
        for row in rows.indices { rows[row] = appending(bytes, to: rows[row]) }
      } else if case .array(let elements) = value {
        // Elements may be equal, or be cut to the same bytes.
        var seen: Set<Bytes> = []
        let elements = elements.map { Self.bytes($0, .ascending) }
        rows = rows.flatMap { row in elements.map { appending($0, to: row) } }
          .filter { seen.insert($0).inserted }
      } else {
        return []
      }
    }
    return rows
  }

  private static func bytes(_ value: DocumentValue, _ direction: Direction) -> Bytes {
    var encoder = OrderedEncoder()
    encoder.append(value, direction)
    return encoder.bytes
  }

  /// The prefix of the rows of a collection's documents; nil when the collection is not indexed.
  func start(_ collection: CollectionPath) -> Bytes? {
    place(collection).map { prefix + $0 }
  }

  /// The part of that prefix after the index's own prefix; nil when the collection is not indexed.
  func place(_ collection: CollectionPath) -> Bytes? {
    guard collection.id.utf8.elementsEqual(index.collectionID.utf8) else { return nil }
    guard index.scope == .collection else { return [] }
    return Self.place(collection)
  }

  /// The bytes of a collection's path; nil when they are too many to be indexed.
  static func place(_ collection: CollectionPath) -> Bytes? {
    let bytes = bytes(collection)
    return bytes.count <= longestCollection ? bytes : nil
  }

  /// The bytes of a collection's path, however many.
  static func bytes(_ collection: CollectionPath) -> Bytes {
    var encoder = OrderedEncoder()
    encoder.append(collection)
    return encoder.bytes
  }

  /// The full name of a document, as rows encode it.
  func name(_ path: DocumentPath) -> Bytes {
    var encoder = OrderedEncoder()
    append(path, to: &encoder)
    return encoder.bytes
  }

  private func append(_ path: DocumentPath, to encoder: inout OrderedEncoder) {
    switch index.scope {
    case .collection: encoder.append(id: path.id, index.nameDirection)
    case .group: encoder.append(path, index.nameDirection)
    }
  }

  // MARK: Reading

  /// What a row says of a document.
  struct Entry: Equatable {
    /// The document.
    let path: DocumentPath
    /// Where its values begin in the row's key.
    let valuesStart: Int
    /// Where its values end in the row's key.
    let valuesEnd: Int
    /// Whether the row holds only the beginning of its values.
    let isCut: Bool
  }

  /// The last decoded collection, and the prefix of its rows.
  struct KnownCollection {
    let start: Bytes
    let path: CollectionPath
  }

  /// Where the parts of a row's key are.
  struct Layout {
    /// The collection, in scope `.collection`.
    fileprivate(set) var collection: CollectionPath?
    /// Where the values begin.
    fileprivate(set) var start = 0
    /// Where each field's value ends; only the fields whose values the row holds whole.
    fileprivate(set) var fieldEnds: [Int] = []
    /// Where the values end.
    fileprivate(set) var valuesEnd = 0
    /// Whether the row holds only the beginning of its values.
    fileprivate(set) var isCut = false
  }

  /// The documents of a row, in the order of rows; nil when the row is none of this index.
  ///
  /// - Parameter listed: the whole names in the row's record.
  func entries(_ key: Bytes, _ listed: [Bytes]) -> [Entry]? {
    var none: KnownCollection?
    var layout = Layout()
    return read(key, &none, &layout) ? entries(key, listed, layout) : nil
  }

  /// The documents of a row, in the order of rows; nil when a name is none.
  func entries(_ key: Bytes, _ listed: [Bytes], _ layout: Layout) -> [Entry]? {
    var entries: [Entry] = []
    for name in listed.isEmpty ? [Bytes(key[layout.valuesEnd...])] : listed {
      guard let path = path(name, in: layout.collection) else { return nil }
      entries.append(
        Entry(
          path: path, valuesStart: layout.start, valuesEnd: layout.valuesEnd, isCut: layout.isCut))
    }
    return entries
  }

  /// Finds the parts of a row's key; false when the row is none of this index.
  ///
  /// - Parameter known: the collection of the row before: it is decoded only when it changes.
  func read(_ key: Bytes, _ known: inout KnownCollection?, _ layout: inout Layout) -> Bool {
    guard key.starts(with: prefix) else { return false }
    var collection: CollectionPath?
    var start = prefix.count
    if index.scope == .collection {
      if let known, key.starts(with: known.start) {
        (collection, start) = (known.path, known.start.count)
      } else {
        var decoder = OrderedDecoder(key, at: start)
        guard let path = try? decoder.collection() else { return false }
        collection = path
        start = decoder.offset
        known = KnownCollection(start: Bytes(key[..<start]), path: path)
      }
    }
    layout.collection = collection
    return readValues(key, start, &layout)
  }

  /// Finds the ends of the values that begin at an offset.
  private func readValues(_ key: Bytes, _ start: Int, _ layout: inout Layout) -> Bool {
    guard start <= key.count else { return false }
    layout.start = start
    layout.fieldEnds.removeAll(keepingCapacity: true)
    // A cut row ends within a value, because complete encodings are never prefixes of one another.
    let longest = start + Self.longestValues
    var decoder = OrderedDecoder(key.count > longest ? Bytes(key[..<longest]) : key, at: start)
    do throws(DocumentError) {
      for field in index.fields {
        try decoder.skipValue(field.kind.direction ?? .ascending)
        layout.fieldEnds.append(decoder.offset)
      }
      layout.valuesEnd = decoder.offset
      layout.isCut = false
      return true
    } catch {
      layout.valuesEnd = longest
      layout.isCut = true
      return key.count > longest
    }
  }

  private func path(_ name: Bytes, in collection: CollectionPath?) -> DocumentPath? {
    var decoder = OrderedDecoder(name)
    let path =
      if let collection {
        (try? decoder.id(index.nameDirection)).flatMap { DocumentPath(in: collection, id: $0) }
      } else {
        try? decoder.path(index.nameDirection)
      }
    return decoder.isAtEnd ? path : nil
  }
}
