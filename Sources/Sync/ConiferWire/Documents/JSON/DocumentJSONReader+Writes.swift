package import ConiferDocument
package import ConiferTree

// Writes in the form of Firestore's REST API.
extension DocumentJSONReader {
  /// A write whose object was begun.
  ///
  /// - Parameter database: the database of the request, which every name in the write must be of.
  /// - Throws: also for a write that is of no kind, or of two.
  package mutating func write(in database: DatabaseID) throws(JSONError) -> Mutation {
    var kinds: [WriteKind] = []
    var mask: FieldMask?
    var transforms: [FieldTransform] = []
    var precondition = Precondition.none
    try rest { (reader, key) throws(JSONError) in
      switch key {
      case "update":
        let document = try reader.document(try reader.next())
        guard let name = document.name else { throw reader.refused("An update has a name.") }
        kinds.append(.update(try reader.path(of: name, in: database), document.fields))
      case "delete": kinds.append(.delete(try reader.path(in: database)))
      case "verify": kinds.append(.verify(try reader.path(in: database)))
      case "transform":
        var path: DocumentPath?
        try reader.members("A transform") { (reader, key) throws(JSONError) in
          switch key {
          case "document": path = try reader.path(in: database)
          case "fieldTransforms": transforms += try reader.transforms(key)
          default: try reader.unknown(key)
          }
        }
        guard let path else { throw reader.refused("A transform names its document.") }
        kinds.append(.transform(path))
      case "updateMask": mask = try reader.mask()
      case "updateTransforms": transforms += try reader.transforms(key)
      case "currentDocument": precondition = try reader.precondition()
      default: try reader.unknown(key)
      }
    }
    guard kinds.count == 1, let kind = kinds.first else {
      throw refused("A write is one of update, delete, verify and transform.")
    }
    guard let mutation = kind.mutation(mask, transforms, precondition) else {
      throw refused("An updateMask and updateTransforms belong to an update.")
    }
    return mutation
  }

  /// The fields that a mask names.
  package mutating func mask() throws(JSONError) -> FieldMask {
    var paths: [FieldPath] = []
    try members("A mask") { (reader, key) throws(JSONError) in
      guard key == "fieldPaths" else { return try reader.unknown(key) }
      try reader.elements(key) { (reader, event) throws(JSONError) in
        guard case .string(let text) = event else {
          throw reader.refused("An element of fieldPaths is a string.")
        }
        paths.append(
          try reader.checked { () throws(DocumentError) in try FieldPath(canonical: text) })
      }
    }
    return FieldMask(paths)
  }

  private mutating func path(in database: DatabaseID) throws(JSONError) -> DocumentPath {
    try path(try next(), in: database)
  }

  /// The path of a document of the database, whose name was read.
  package func path(
    _ event: JSONEvent, in database: DatabaseID
  ) throws(JSONError) -> DocumentPath {
    guard case .string(let text) = event else {
      throw refused("The name of a document is a string.")
    }
    let name = try checked { () throws(DocumentError) in try DocumentName(text) }
    return try path(of: name, in: database)
  }

  private func path(
    of name: DocumentName, in database: DatabaseID
  ) throws(JSONError) -> DocumentPath {
    guard name.database == database else {
      throw refused("\(name) is not a document of \(database), which the request is for.")
    }
    return name.path
  }

  private mutating func precondition() throws(JSONError) -> Precondition {
    var precondition = Precondition.none
    try members("A precondition") { (reader, key) throws(JSONError) in
      guard precondition == .none else {
        throw reader.refused("A precondition is exists or updateTime, not both.")
      }
      switch key {
      case "exists":
        guard case .bool(let exists) = try reader.next() else {
          throw reader.refused("The value of exists is true or false.")
        }
        precondition = .exists(exists)
      case "updateTime": precondition = .updateTime(try reader.time(key))
      default: try reader.unknown(key)
      }
    }
    return precondition
  }

  private mutating func transforms(_ key: String) throws(JSONError) -> [FieldTransform] {
    var transforms: [FieldTransform] = []
    try elements(key) { (reader, event) throws(JSONError) in
      guard event == .beginObject else {
        throw reader.refused("An element of \(key) is an object.")
      }
      transforms.append(try reader.transform())
    }
    return transforms
  }

  private mutating func transform() throws(JSONError) -> FieldTransform {
    var field: FieldPath?
    var operations: [FieldTransform.Operation] = []
    try rest { (reader, key) throws(JSONError) in
      switch key {
      case "fieldPath":
        let text = try reader.text(key)
        field = try reader.checked { () throws(DocumentError) in try FieldPath(canonical: text) }
      case "setToServerValue":
        guard try reader.word(key, ["SERVER_VALUE_UNSPECIFIED", "REQUEST_TIME"]) == "REQUEST_TIME"
        else {
          throw reader.refused("The only value of setToServerValue is REQUEST_TIME.")
        }
        operations.append(.serverTimestamp)
      case "increment": operations.append(.increment(try reader.number(key)))
      case "minimum": operations.append(.minimum(try reader.number(key)))
      case "maximum": operations.append(.maximum(try reader.number(key)))
      case "appendMissingElements": operations.append(.arrayUnion(try reader.elements(of: key)))
      case "removeAllFromArray": operations.append(.arrayRemove(try reader.elements(of: key)))
      default: try reader.unknown(key)
      }
    }
    guard let field, operations.count == 1, let operation = operations.first else {
      throw refused("A transform has a fieldPath and one operation.")
    }
    return FieldTransform(field, operation)
  }

  private mutating func number(_ key: String) throws(JSONError) -> Number {
    guard let number = try typed().number else {
      throw refused("The value of \(key) is an integer or a double.")
    }
    return number
  }

  private mutating func elements(of key: String) throws(JSONError) -> [DocumentValue] {
    var found: [DocumentValue] = []
    try members("The value of \(key)") { (reader, key) throws(JSONError) in
      guard key == "values" else { return try reader.unknown(key) }
      found = try reader.values(key)
    }
    return found
  }
}
