import ConiferDocument
import ConiferKeyValue

/// Reads the indexes of a configuration.
enum IndexConfigurationReader {
  static func indexes(_ json: [UInt8]) throws(StoreError) -> [DocumentIndex] {
    let root = try ConfigurationValue(json: json)
    let (composites, fields) = (try root.member("indexes"), try root.member("fieldOverrides"))
    try root.allow(["indexes", "fieldOverrides"], orPrefix: "$")
    guard composites != nil || fields != nil else {
      throw root.refused("lacks the key indexes: write {\"indexes\": []} to declare none")
    }
    var indexes: [DocumentIndex] = []
    for value in try composites?.elements() ?? [] {
      if let index = try composite(value) { indexes.append(index) }
    }
    for value in try fields?.elements() ?? [] { indexes += try overrides(value) }
    return indexes
  }

  /// What the vendor's tool writes into an index and means nothing here.
  private static let ignored = ["apiScope", "density", "multiKey", "unique"]
  /// What tells how a field is indexed.
  private static let kinds = ["order", "arrayConfig"]

  /// An index of several fields; nil when it is for nearest-neighbour search.
  private static func composite(_ value: ConfigurationValue) throws(StoreError) -> DocumentIndex? {
    try value.allow(["collectionGroup", "queryScope", "fields"] + ignored)
    let id = try collectionID(value)
    let scope = try scope(value)
    var fields: [DocumentIndex.Field] = []
    var isForNeighbours = false
    for field in try value.required("fields").elements() {
      try field.allow(["fieldPath", "vectorConfig"] + kinds)
      let path = try path(field)
      if let vector = try field.member("vectorConfig") {
        try vector.allow(["dimension", "flat"])
        for key in kinds where try field.member(key) != nil {
          throw field.refused("has both vectorConfig and \(key): keep one of them")
        }
        isForNeighbours = true
      } else {
        fields.append(DocumentIndex.Field(path, try kind(field)))
      }
    }
    if isForNeighbours { return nil }
    return try index(value, id, fields, scope)
  }

  /// The indexes of one field.
  private static func overrides(_ value: ConfigurationValue) throws(StoreError) -> [DocumentIndex] {
    try value.allow(["collectionGroup", "fieldPath", "indexes", "ttl"])
    let id = try collectionID(value)
    let entries = try value.member("indexes")?.elements() ?? []
    for entry in entries { try entry.allow(["queryScope"] + kinds + ignored) }
    // All fields at once are what the service indexes by itself.
    guard try value.required("fieldPath").text() != "*" else {
      for entry in entries { _ = (try kind(entry), try scope(entry)) }
      return []
    }
    // An exemption, without an index, takes nothing away here.
    let path = try path(value)
    var indexes: [DocumentIndex] = []
    for entry in entries {
      let field = DocumentIndex.Field(path, try kind(entry))
      indexes.append(try index(entry, id, [field], try scope(entry)))
    }
    return indexes
  }

  /// The id of the collections: one that a collection may have.
  private static func collectionID(_ value: ConfigurationValue) throws(StoreError) -> String {
    let place = try value.required("collectionGroup")
    let id = try place.text()
    // What is no id at all is refused with the index.
    guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: "/")) else { return id }
    do throws(DocumentError) {
      try DocumentPath("\(id)/d").validate()
    } catch {
      throw place.refused(error.message)
    }
    return id
  }

  private static func index(
    _ value: ConfigurationValue, _ id: String, _ fields: [DocumentIndex.Field],
    _ scope: DocumentIndex.Scope
  ) throws(StoreError) -> DocumentIndex {
    do throws(StoreError) {
      return try DocumentIndex(id, fields, scope: scope)
    } catch {
      throw value.refused(error.message)
    }
  }

  private static func scope(
    _ value: ConfigurationValue
  ) throws(StoreError) -> DocumentIndex.Scope {
    try value.member("queryScope")?.word(IndexWords.scopes) ?? .collection
  }

  private static func path(_ value: ConfigurationValue) throws(StoreError) -> FieldPath {
    let place = try value.required("fieldPath")
    let text = try place.text()
    guard text != "*" else { throw place.refused("\"*\" is no field: name one.") }
    do throws(DocumentError) {
      let path = try FieldPath(canonical: text)
      try path.checkExists("The index")
      return path
    } catch {
      throw place.refused(error.message)
    }
  }

  private static func kind(
    _ value: ConfigurationValue
  ) throws(StoreError) -> DocumentIndex.Field.Kind {
    let (order, array) = (try value.member("order"), try value.member("arrayConfig"))
    switch (order, array) {
    case (let order?, nil): return try order.word(IndexWords.orders)
    case (nil, let array?): return try array.word(IndexWords.arrays)
    case (nil, nil): throw value.refused("lacks the key order or arrayConfig")
    case (_?, _?): throw value.refused("has both order and arrayConfig: keep one of them")
    }
  }
}

/// The words of a configuration and what they stand for.
enum IndexWords {
  static let scopes: KeyValuePairs<String, DocumentIndex.Scope> = [
    "COLLECTION": .collection, "COLLECTION_GROUP": .group,
  ]
  static let orders: KeyValuePairs<String, DocumentIndex.Field.Kind> = [
    "ASCENDING": .ascending, "DESCENDING": .descending,
  ]
  static let arrays: KeyValuePairs<String, DocumentIndex.Field.Kind> = ["CONTAINS": .contains]
}
