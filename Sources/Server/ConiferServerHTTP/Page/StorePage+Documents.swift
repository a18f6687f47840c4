import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import ConiferWire

/// A place of a tree of documents on the page.
///
/// Below a document stand its fields, and the collections below it under a name that no field and no collection can have.
enum DocumentPlace {
  /// The name under which a document's collections stand.
  static let collections: Key = "__collections__"

  /// All collections, or those below a document.
  case collections(of: DocumentPath?)
  case collection(CollectionPath)
  case document(DocumentPath)
  case field(DocumentPath, [String])

  /// The place of a path of the page; nil when it is none.
  init?(_ path: Path) {
    var keys = path.keys[...]
    var document: DocumentPath?
    while true {
      guard let id = keys.popFirst() else {
        self = .collections(of: document)
        return
      }
      guard
        let collection = document.map({ try? $0.collection(id.string) })
          ?? (try? CollectionPath(id.string))
      else { return nil }
      guard let name = keys.popFirst() else {
        self = .collection(collection)
        return
      }
      guard let found = try? collection.document(name.string) else { return nil }
      document = found
      guard let next = keys.first else {
        self = .document(found)
        return
      }
      guard next == Self.collections else {
        self = .field(found, keys.map(\.string))
        return
      }
      keys.removeFirst()
    }
  }

  /// The page's path of what stands at a path of the tree: a collection or a document.
  static func path(_ stored: Path) -> Path {
    let segments: [String]
    if let document = DocumentKey.document(stored) {
      segments = document.segments
    } else if let text = stored.keys.first?.string, let collection = try? CollectionPath(text) {
      segments = (collection.parent?.segments ?? []) + [collection.id]
    } else {
      return .root
    }
    var keys: [Key] = []
    for (index, segment) in segments.enumerated() {
      if index > 0, index.isMultiple(of: 2) { keys.append(collections) }
      keys.append(Key(segment))
    }
    return Path(keys)
  }
}

/// Reads the windows of a tree of documents.
struct DocumentWindows {
  let view: any DocumentView
  let tree: TreeID

  func window(_ wanted: PageWindow.Wanted) throws(StoreError) -> PageWindow {
    guard let place = DocumentPlace(wanted.path) else { return empty }
    switch place {
    case .collections(let document):
      let ids = try collectionIDs(below: document, limit: wanted.limit + 1)
      return window(ids.map { PageItem(Key($0), .closed, priority: nil) }, wanted.limit)
    case .collection(let collection):
      return window(try documents(in: collection, limit: wanted.limit + 1), wanted.limit)
    case .document(let path): return try window(path, wanted.limit)
    case .field(let path, let names):
      let fields = try view.document(tree, path).fields ?? .empty
      guard let value = Self.value(.map(fields), names[...]) else { return empty }
      return window(value, wanted.limit)
    }
  }

  private var empty: PageWindow {
    PageWindow(item: PageItem(nil, .null, priority: nil), children: [], hasMore: false)
  }

  private func window(_ children: [PageItem], _ limit: Int) -> PageWindow {
    let hasMore = children.count > limit
    let form: PageItem.Form =
      children.isEmpty
      ? .null : .object(count: hasMore ? nil : children.count, leaves: nil, bytes: nil)
    return PageWindow(
      item: PageItem(nil, form, priority: nil), children: Array(children.prefix(limit)),
      hasMore: hasMore)
  }

  private func window(_ value: DocumentValue, _ limit: Int) -> PageWindow {
    let children: [PageItem]
    switch value {
    case .map(let map): children = map.fields.map { PageItem(Key($0.name), $0.value) }
    case .array(let values):
      children = values.enumerated().map { PageItem(Key("\($0)"), $1) }
    default: children = []
    }
    return PageWindow(
      item: PageItem(nil, value), children: Array(children.prefix(limit)),
      hasMore: children.count > limit)
  }

  // MARK: Documents

  /// A document: its fields, and its collections as a child of their own.
  private func window(_ path: DocumentPath, _ limit: Int) throws(StoreError) -> PageWindow {
    let document = try view.document(tree, path)
    var children = (document.fields ?? .empty).fields.map { PageItem(Key($0.name), $0.value) }
    let ids = try collectionIDs(below: path, limit: 1)
    if !ids.isEmpty { children.append(PageItem(DocumentPlace.collections, .closed, priority: nil)) }
    return PageWindow(
      item: try item(document, nil), children: Array(children.prefix(limit)),
      hasMore: children.count > limit)
  }

  private func item(_ document: Document, _ key: Key?) throws(StoreError) -> PageItem {
    if let fields = document.fields {
      return PageItem(
        key, .object(count: fields.count, leaves: nil, bytes: fields.size), priority: nil)
    }
    guard try collectionIDs(below: document.path, limit: 1).isEmpty else {
      return PageItem(key, .closed, priority: nil)
    }
    let form: PageItem.Form = document.state == .unknown ? .special("fields not known") : .null
    return PageItem(key, form, priority: nil)
  }

  /// The first documents of a collection; behind them those that are only above others.
  private func documents(
    in collection: CollectionPath, limit: Int
  ) throws(StoreError) -> [PageItem] {
    var items: [PageItem] = []
    for document in try view.documents(tree, in: collection, after: nil, limit: limit) {
      items.append(try item(document, Key(document.path.id)))
    }
    for id in try ids(behind: collection.description, limit: limit) where items.count < limit {
      guard let path = try? collection.document(id),
        try view.document(tree, path).state == .unseen
      else { continue }
      items.append(PageItem(Key(id), .closed, priority: nil))
    }
    return items
  }

  // MARK: Collections

  private func collectionIDs(
    below document: DocumentPath?, limit: Int
  ) throws(StoreError) -> [String] {
    try ids(behind: document?.description, limit: limit)
  }

  /// The segments that follow a path in those of collections, each once; what is behind each is skipped.
  private func ids(behind path: String?, limit: Int) throws(StoreError) -> [String] {
    let prefix = path.map { $0 + "/" } ?? ""
    let depth = prefix.utf8.count { $0 == UInt8(ascii: "/") }
    // Sorted behind whatever may stand below a segment.
    func end(_ segment: String) -> CollectionPath? {
      let last = "\u{10FFFF}"
      return try? CollectionPath(
        prefix + segment + (depth.isMultiple(of: 2) ? "/\(last)/\(last)" : "/\(last)"))
    }
    var found: [String] = []
    // What is below "a" comes after "a-b", so a segment may come twice.
    var known: Set<[UInt8]> = []
    var after = path.flatMap { _ in
      try? CollectionPath(prefix + (depth.isMultiple(of: 2) ? "\u{1}" : "\u{1}/\u{1}"))
    }
    while found.count < limit {
      guard let next = try view.collections(tree, after: after, limit: 1).first else { break }
      let text = next.description.utf8
      guard text.starts(with: prefix.utf8) else { break }
      let segment = text.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: "/") }
      let id = String(Substring(segment))
      if known.insert(Array(segment)).inserted { found.append(id) }
      after = text.count == prefix.utf8.count + segment.count ? next : end(id) ?? next
    }
    return found
  }

  private static func value(
    _ value: DocumentValue, _ names: ArraySlice<String>
  ) -> DocumentValue? {
    guard let name = names.first else { return value }
    switch value {
    case .map(let map): return map[name].flatMap { self.value($0, names.dropFirst()) }
    case .array(let values):
      guard let index = Int(name), values.indices.contains(index) else { return nil }
      return self.value(values[index], names.dropFirst())
    default: return nil
    }
  }
}

extension DocumentWindows {
  /// The documents at and below a place, in the form of Firestore's REST API; nil when that is too long.
  func export(_ path: Path, in database: DatabaseID, pretty: Bool) throws(StoreError) -> [UInt8]? {
    var writer = JSONWriter(pretty: pretty)
    switch DocumentPlace(path) {
    case .document(let path), .field(let path, _):
      writer.document(try view.document(tree, path), in: database)
      return writer.bytes
    case nil: return Array("[]".utf8)
    case .collections, .collection: break
    }
    let root: String
    switch DocumentPlace(path) {
    case .collection(let collection): root = collection.description
    case .collections(let document): root = document?.description ?? ""
    default: root = ""
    }
    writer.beginArray()
    var after: CollectionPath?
    while let next = try view.collections(tree, after: after, limit: 1).first {
      after = next
      let text = next.description.utf8
      guard root.isEmpty || text.elementsEqual(root.utf8) || text.starts(with: "\(root)/".utf8)
      else { continue }
      var last: DocumentPath?
      while true {
        let documents = try view.documents(tree, in: next, after: last, limit: 64)
        for document in documents where document.fields != nil {
          writer.document(document, in: database)
        }
        if writer.bytes.count > StorePage.longestExport { return nil }
        guard let end = documents.last?.path else { break }
        last = end
      }
    }
    writer.endArray()
    return writer.bytes
  }
}

extension PageItem {
  /// The value of a field as a row.
  init(_ key: Key?, _ value: DocumentValue) {
    switch value {
    case .string(let text): self.init(key, Node(.string(text)))
    case .boolean(let flag): self.init(key, .boolean(flag), priority: nil)
    case .integer(let number): self.init(key, .number("\(number)"), priority: nil)
    case .double(let number): self.init(key, .number("\(number)"), priority: nil)
    case .null: self.init(key, .null, priority: nil)
    case .map(let map):
      self.init(key, .object(count: map.count, leaves: nil, bytes: map.size), priority: nil)
    case .array(let values):
      self.init(key, .object(count: values.count, leaves: nil, bytes: value.size), priority: nil)
    case .timestamp, .serverTimestamp, .bytes, .reference, .geoPoint, .vector:
      self.init(key, .special(Self.words(value)), priority: nil)
    }
  }

  /// The text of a value that JSON has no type for.
  static func words(_ value: DocumentValue) -> String {
    switch value {
    case .timestamp(let time), .serverTimestamp(let time, _): time.rfc3339
    case .bytes(let bytes): "\(bytes.count) bytes"
    case .reference(let name): "→ \(name.path)"
    case .geoPoint(let point): "\(point.latitude), \(point.longitude)"
    case .vector(let numbers):
      "vector of \(numbers.count): " + numbers.prefix(8).map { "\($0)" }.joined(separator: ", ")
    case .null, .boolean, .integer, .double, .string, .array, .map: ""
    }
  }
}

extension PageItem.Form {
  /// Something with children of which nothing more is known.
  static var closed: PageItem.Form { .object(count: nil, leaves: nil, bytes: nil) }
}
