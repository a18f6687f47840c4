import ConiferDocument

/// A reference to a collection, which queries its documents, makes references to them and adds new
/// ones.
public final class CollectionReference: Query, @unchecked Sendable {
  // Unchecked, as its superclass is; its members are constant.
  private let place: Result<CollectionPath, FirestoreError>
  private let text: String

  init(_ firestore: Firestore, _ place: Result<CollectionPath, FirestoreError>, text: String) {
    self.place = place
    self.text = place.map(\.description).or(text)
    super.init(
      firestore, place.map { DocumentQuery(.collection($0), in: firestore.database) })
  }

  convenience init(_ firestore: Firestore, _ text: String) {
    let place = Result { () throws(DocumentError) in try CollectionPath(text) }
    self.init(firestore, place.mapError { FirestoreError($0) }, text: text)
  }

  /// The collection's id: the last segment of its path.
  public var collectionID: String {
    if case .success(let path) = place { return path.id }
    return text.split(separator: "/").last.map(String.init) ?? ""
  }

  /// The ids from the root down, with slashes between them.
  public var path: String { text }

  /// The document that the collection is below; nil for one at the root.
  public var parent: DocumentReference? {
    switch place {
    case .success(let path): path.parent.map { DocumentReference(firestore, $0) }
    case .failure(let error):
      DocumentReference(
        firestore, .failure(error), text: DocumentReference.parent(of: text))
    }
  }

  /// A place for a new document, with an id of 20 random letters and digits.
  public func document() -> DocumentReference { document(firestore.newID()) }

  /// A document of the collection, or one below.
  ///
  /// - Parameter documentPath: the document's id, or a path from here that ends at a document.
  public func document(_ documentPath: String) -> DocumentReference {
    let target = place.flatMap { path in
      Result { () throws(DocumentError) in try path.document(documentPath) }
        .mapError { FirestoreError($0) }
    }
    return DocumentReference(
      firestore, target, text: target.map(\.description).or(text + "/" + documentPath))
  }
}

extension CollectionReference {
  /// Adds a document with a new id.
  ///
  /// - Parameter data: its fields.
  /// - Returns: the document, which can be listened to at once.
  @discardableResult
  public func addDocument(data: [String: Any]) -> DocumentReference {
    let document = document()
    document.setData(data)
    return document
  }

  /// Adds a document with a new id.
  ///
  /// - Parameters:
  ///   - data: its fields.
  ///   - completion: given the server's error, or nil.
  /// - Returns: the document, which can be listened to at once.
  @discardableResult
  public func addDocument(
    data: [String: Any], completion: (((any Error)?) -> Void)?
  ) -> DocumentReference {
    let document = document()
    document.setData(data, completion: completion)
    return document
  }

  /// Adds a document with a new id, and waits until the server has.
  ///
  /// - Parameter data: its fields.
  /// - Returns: the document.
  /// - Throws: why it is invalid, was not queued, or was refused; `cancelled`.
  @discardableResult
  nonisolated(nonsending)
    public func addDocument(
      data: [String: Any]
    ) async throws(FirestoreError) -> DocumentReference
  {
    let document = document()
    try await document.setData(data)
    return document
  }
}

extension Result {
  /// The value, or another one.
  func or(_ other: Success) -> Success {
    if case .success(let value) = self { value } else { other }
  }
}

extension Firestore {
  /// An id of 20 letters and digits, all equally likely. It is made from the configuration's random
  /// numbers, or from the system's when those give no letters.
  func newID() -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    let random = configuration.random
    var system = SystemRandomNumberGenerator()
    var (id, rounds) = ([] as [UInt8], 0)
    while id.count < 20 {
      // A configuration may supply numbers of which none gives a letter.
      var bits = rounds < 20 ? random() : system.next()
      rounds += 1
      for _ in 0..<8 where id.count < 20 {
        let number = Int(bits & 0xFF)
        // Bytes above 247 are skipped, because they would make the first letters likelier.
        if number < 248 { id.append(alphabet[number % 62]) }
        bits >>= 8
      }
    }
    return String(decoding: id, as: UTF8.self)
  }
}
