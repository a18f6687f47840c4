package import ConiferDocument

/// Whether a document exists, as far as the cache and the local writes tell.
public enum DocumentPresence: Sendable, Hashable {
  /// It exists, and its fields are known.
  case found
  /// It does not exist: the server said so, or a write made here deletes it.
  case missing
  /// Nobody knows: the server was never asked, or has not answered.
  case unseen
  /// It exists, but its fields are not known: a write changed it that was made without knowing them.
  case unknown
}

/// The state of a document at one moment; it is immutable, and may be kept and shared.
public class DocumentSnapshot: @unchecked Sendable {
  // Unchecked, as classes that are not final always are; all members are constant.
  final let firestore: Firestore
  /// Where the data comes from, and how well it is known.
  public final let metadata: SnapshotMetadata
  /// The document as the model has it.
  package final let document: Document

  init(_ firestore: Firestore, _ document: Document, _ metadata: SnapshotMetadata) {
    self.firestore = firestore
    self.document = document
    self.metadata = metadata
  }

  /// The document's place.
  public final var reference: DocumentReference { DocumentReference(firestore, document.path) }

  /// The document's id.
  public final var documentID: String { document.path.id }

  /// Whether the document exists and its fields are known.
  public final var exists: Bool { document.fields != nil }

  /// Whether the document exists: tells one that is known to be gone from one that was never seen.
  public final var presence: DocumentPresence {
    switch document.state {
    case .found: .found
    case .missing: .missing
    case .unseen: .unseen
    case .unknown: .unknown
    }
  }

  /// The fields, server timestamps that the server has yet to say as `NSNull`; nil when there is no
  /// document.
  public func data() -> [String: Any]? { fields(.none) }

  /// The fields; nil when there is no document.
  ///
  /// - Parameter serverTimestampBehavior: what stands for server timestamps that the server has yet to
  ///   say.
  public func data(
    with serverTimestampBehavior: ServerTimestampBehavior
  ) -> [String: Any]? { fields(serverTimestampBehavior) }

  /// A field's value; nil when there is no such field.
  ///
  /// Values are `String`, `Bool`, numbers that can be cast to `Int` and to `Double`, ``Timestamp``,
  /// `Data`, ``DocumentReference``, ``GeoPoint``, ``VectorValue``, arrays, dictionaries and `NSNull`.
  ///
  /// - Parameter field: a `String` such as `address.city`, or a ``FieldPath``; a malformed one is logged
  ///   as an error and gives nil.
  public final func get(_ field: Any) -> Any? { get(field, serverTimestampBehavior: .none) }

  /// A field's value; nil when there is no such field.
  ///
  /// - Parameters:
  ///   - field: a `String` such as `address.city`, or a ``FieldPath``.
  ///   - serverTimestampBehavior: what stands for server timestamps that the server has yet to say.
  public final func get(
    _ field: Any, serverTimestampBehavior: ServerTimestampBehavior
  ) -> Any? {
    do throws(FirestoreError) {
      let path = try FieldPath.checked(field)
      let writer = DataWriter(firestore: firestore, behavior: serverTimestampBehavior)
      return document.fields?[path].map { writer.value($0) }
    } catch {
      firestore.report(error)
      return nil
    }
  }

  /// A field's value; nil when there is no such field. See ``get(_:)``.
  public final subscript(field: Any) -> Any? { self.get(field) }

  final func fields(_ behavior: ServerTimestampBehavior) -> [String: Any]? {
    let writer = DataWriter(firestore: firestore, behavior: behavior)
    return document.fields.map { writer.data($0) }
  }
}

extension DocumentSnapshot: Hashable, CustomStringConvertible {
  /// Whether place, data and metadata are the same; when the server told them does not matter.
  public static func == (a: DocumentSnapshot, b: DocumentSnapshot) -> Bool {
    a.firestore === b.firestore && a.document.path == b.document.path
      && a.document.fields == b.document.fields && a.metadata == b.metadata
  }

  /// Feeds place and metadata.
  public final func hash(into hasher: inout Hasher) {
    hasher.combine(document.path)
    hasher.combine(metadata)
  }

  /// The place and the data.
  public final var description: String { "\(document.path): \(data() ?? [:])" }
}

/// The snapshot of a document in a query's result, which always exists.
public final class QueryDocumentSnapshot: DocumentSnapshot, @unchecked Sendable {
  // Unchecked, as its superclass is; it has no members of its own.

  /// The fields, server timestamps that the server has yet to say as `NSNull`.
  public override func data() -> [String: Any] { fields(.none) ?? [:] }

  /// The fields.
  ///
  /// - Parameter serverTimestampBehavior: what stands for server timestamps that the server has yet to
  ///   say.
  public override func data(
    with serverTimestampBehavior: ServerTimestampBehavior
  ) -> [String: Any] { fields(serverTimestampBehavior) ?? [:] }
}
