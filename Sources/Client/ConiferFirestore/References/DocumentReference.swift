import ConiferDocument

/// A reference to a document's path, to read, write and listen to it, whether the document exists
/// or not.
///
/// It may be used from any thread, and costs next to nothing. An invalid path makes a reference
/// too; calls that use it report the error.
public final class DocumentReference: Sendable {
  /// The database that it belongs to.
  public let firestore: Firestore
  /// The place, or why it is none.
  let target: Result<DocumentPath, FirestoreError>
  private let text: String

  init(_ firestore: Firestore, _ target: Result<DocumentPath, FirestoreError>, text: String) {
    self.firestore = firestore
    self.target = target
    self.text = text
  }

  convenience init(_ firestore: Firestore, _ path: DocumentPath) {
    self.init(firestore, .success(path), text: path.description)
  }

  convenience init(_ firestore: Firestore, _ text: String) {
    do throws(DocumentError) {
      self.init(firestore, try DocumentPath(text))
    } catch {
      self.init(firestore, .failure(FirestoreError(error)), text: text)
    }
  }

  /// The reference that a field holds; one into another database can be compared and stored nowhere.
  convenience init(_ firestore: Firestore, _ name: DocumentName) {
    guard name.database == firestore.database else {
      self.init(
        firestore,
        .failure(
          FirestoreError(
            .invalidArgument,
            "\(name) is in another database than this one. Make the reference with that database.")),
        text: name.description)
      return
    }
    self.init(firestore, name.path)
  }

  /// The document's id: the last segment of its path.
  public var documentID: String {
    if case .success(let path) = target { return path.id }
    return text.split(separator: "/").last.map(String.init) ?? ""
  }

  /// The ids from the root down, with slashes between them.
  public var path: String { text }

  /// The collection that the document is in.
  public var parent: CollectionReference {
    CollectionReference(firestore, target.map(\.collection), text: Self.parent(of: text))
  }

  /// A collection below the document.
  ///
  /// - Parameter collectionPath: the collection's id, or a path from here that ends at a collection.
  public func collection(_ collectionPath: String) -> CollectionReference {
    let place = target.flatMap { path in
      Result { () throws(DocumentError) in try path.collection(collectionPath) }
        .mapError { FirestoreError($0) }
    }
    return CollectionReference(firestore, place, text: text + "/" + collectionPath)
  }

  /// The text before the last slash.
  static func parent(of text: String) -> String {
    text.lastIndex(of: "/").map { String(text[..<$0]) } ?? ""
  }
}

extension DocumentReference: Hashable, CustomStringConvertible {
  /// Whether both are the same place of the same database.
  public static func == (a: DocumentReference, b: DocumentReference) -> Bool {
    a.firestore === b.firestore && a.text.utf8.elementsEqual(b.text.utf8)
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }

  /// The path.
  public var description: String { text }
}
