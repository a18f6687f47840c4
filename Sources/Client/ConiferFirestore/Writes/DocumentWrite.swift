import ConiferDocument

/// A write for ``DocumentReference/enqueue(_:)``, such as a set, an update or a deletion.
public struct DocumentWrite {
  /// What the app gave, unchecked.
  enum Content {
    case set([String: Any])
    case merge([String: Any])
    case mergeFields([String: Any], [Any])
    case update([AnyHashable: Any])
    case delete
    /// What could not be encoded.
    case fault(FirestoreError)
  }

  let content: Content

  /// Replaces the document.
  ///
  /// - Parameters:
  ///   - data: its fields.
  ///   - merge: whether fields stay that the data has not.
  public static func set(_ data: [String: Any], merge: Bool = false) -> DocumentWrite {
    DocumentWrite(content: merge ? .merge(data) : .set(data))
  }

  /// Replaces some fields of the document, which may be missing.
  ///
  /// - Parameters:
  ///   - data: the fields; what is not named is left out.
  ///   - mergeFields: the fields to replace, as `String` or ``FieldPath``; each is in the data.
  public static func set(_ data: [String: Any], mergeFields: [Any]) -> DocumentWrite {
    DocumentWrite(content: .mergeFields(data, mergeFields))
  }

  /// Replaces some fields of a document that exists.
  ///
  /// - Parameter fields: values by `String`, such as `address.city`, or ``FieldPath``.
  public static func update(_ fields: [AnyHashable: Any]) -> DocumentWrite {
    DocumentWrite(content: .update(fields))
  }

  /// Deletes the document.
  public static var delete: DocumentWrite { DocumentWrite(content: .delete) }
}

extension DocumentWrite {
  /// The write as the engine takes it.
  ///
  /// - Parameter reference: the document.
  /// - Throws: `invalidArgument`, in words that name the field.
  func mutation(for reference: DocumentReference) throws(FirestoreError) -> Mutation {
    let path = try reference.target.get()
    let database = reference.firestore.database
    func make(
      _ mutation: () throws(DocumentError) -> Mutation
    ) throws(FirestoreError) -> Mutation {
      do throws(DocumentError) {
        return try mutation()
      } catch {
        throw FirestoreError(error)
      }
    }
    switch content {
    case .set(let data):
      let fields = try DataReader.data(data)
      return try make { () throws(DocumentError) in try .set(path, fields, in: database) }
    case .merge(let data):
      let fields = try DataReader.data(data)
      return try make { () throws(DocumentError) in try .merge(path, fields, in: database) }
    case .mergeFields(let data, let names):
      let fields = try DataReader.data(data)
      var paths: [ConiferDocument.FieldPath] = []
      for name in names { paths.append(try FieldPath.checked(name)) }
      return try make { () throws(DocumentError) in
        try .merge(path, fields, fields: paths, in: database)
      }
    case .update(let data):
      let fields = try DataReader.update(data)
      return try make { () throws(DocumentError) in try .update(path, fields, in: database) }
    case .delete: return try make { () throws(DocumentError) in try .delete(path) }
    case .fault(let error): throw error
    }
  }
}
