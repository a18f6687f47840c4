import ConiferDocument
import ConiferKeyValue

/// Reads the indexes of a configuration.
enum IndexConfigurationReader {
  static func indexes(_ json: [UInt8]) throws(StoreError) -> [DocumentIndex] {
    let root = try ConfigurationValue(json: json)
    let (composites, fields) = (try root.member("indexes"), try root.member("fieldOverrides"))
    // A misspelt key would otherwise declare nothing, and so drop what is declared.
    if let key = try root.keys().first(where: { !known.contains($0) && !$0.hasPrefix("$") }) {
      throw root.refused("has the key \"\(key)\": give it \"indexes\" and \"fieldOverrides\" alone")
    }
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

  private static let known = ["indexes", "fieldOverrides"]

  /// An index of several fields; nil when it is for nearest-neighbour search.
  private static func composite(_ value: ConfigurationValue) throws(StoreError) -> DocumentIndex? {
    let id = try collectionID(value)
    let scope = try scope(value)
    var fields: [DocumentIndex.Field] = []
    for field in try value.required("fields").elements() {
      if try field.member("vectorConfig") != nil { return nil }
      fields.append(DocumentIndex.Field(try path(field), try kind(field)))
    }
    return try index(value, id, fields, scope)
  }

  /// The indexes of one field.
  private static func overrides(_ value: ConfigurationValue) throws(StoreError) -> [DocumentIndex] {
    let id = try collectionID(value)
    let entries = try value.member("indexes")?.elements() ?? []
    let field = try value.required("fieldPath").text()
    // An exemption takes nothing away here; all fields at once are what the service indexes by itself.
    guard !entries.isEmpty, field != "*" else {
      for entry in entries { _ = (try kind(entry), try scope(entry)) }
      return []
    }
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
      return try FieldPath(canonical: text)
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
