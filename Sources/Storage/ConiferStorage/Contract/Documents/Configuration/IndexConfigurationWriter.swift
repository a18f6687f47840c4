import ConiferDocument
import ConiferTree

/// Writes indexes as the vendor's tool takes them.
struct IndexConfigurationWriter {
  private var json = JSONWriter(pretty: true)

  static func text(_ indexes: [DocumentIndex]) -> String {
    var writer = IndexConfigurationWriter()
    writer.write(indexes)
    return String(decoding: writer.json.bytes, as: UTF8.self)
  }

  private mutating func write(_ indexes: [DocumentIndex]) {
    json.beginObject()
    json.key("indexes")
    json.beginArray()
    for index in indexes where !index.isOverride { write(index) }
    json.endArray()
    json.key("fieldOverrides")
    json.beginArray()
    var rest = indexes.filter(\.isOverride)
    while let first = rest.first {
      let isSameField = { (index: DocumentIndex) in
        index.collectionID.utf8.elementsEqual(first.collectionID.utf8)
          && index.fields[0].path == first.fields[0].path
      }
      writeOverride(first, rest.filter(isSameField))
      rest.removeAll(where: isSameField)
    }
    json.endArray()
    json.endObject()
  }

  private mutating func write(_ index: DocumentIndex) {
    json.beginObject()
    member("collectionGroup", index.collectionID)
    writeScope(index)
    json.key("fields")
    json.beginArray()
    for field in index.fields { write(field) }
    if index.statesNameDirection {
      write(DocumentIndex.Field(.documentID, DocumentIndex.Field.Kind(index.nameDirection)))
    }
    json.endArray()
    json.endObject()
  }

  private mutating func write(_ field: DocumentIndex.Field) {
    json.beginObject()
    member("fieldPath", field.path.canonical)
    writeKind(field.kind)
    json.endObject()
  }

  private mutating func writeOverride(_ first: DocumentIndex, _ indexes: [DocumentIndex]) {
    json.beginObject()
    member("collectionGroup", first.collectionID)
    member("fieldPath", first.fields[0].path.canonical)
    json.key("indexes")
    json.beginArray()
    for index in indexes {
      json.beginObject()
      writeKind(index.fields[0].kind)
      writeScope(index)
      json.endObject()
    }
    json.endArray()
    json.endObject()
  }

  private mutating func writeScope(_ index: DocumentIndex) {
    let word = IndexWords.scopes.first { $0.value == index.scope }?.key
    member("queryScope", word ?? "COLLECTION")
  }

  private mutating func writeKind(_ kind: DocumentIndex.Field.Kind) {
    let (key, words) =
      kind == .contains ? ("arrayConfig", IndexWords.arrays) : ("order", IndexWords.orders)
    if let word = words.first(where: { $0.value == kind })?.key { member(key, word) }
  }

  private mutating func member(_ key: String, _ text: String) {
    json.key(key)
    json.string(text)
  }
}

extension DocumentIndex {
  /// Whether the vendor's tool takes the index as an override of its one field.
  fileprivate var isOverride: Bool { fields.count == 1 && !statesNameDirection }
}
