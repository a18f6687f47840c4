import ConiferDocument
import ConiferEngine
import ConiferStorage
import ConiferWire

/// The loading of one bundle, part by part, each in a step of its own.
final class BundleLoad {
  typealias Completion = @Sendable (Result<BundleProgress, FirestoreError>) -> Void

  /// What is done next.
  enum Phase {
    case begun
    case reading
    /// These documents are not stored yet.
    case storing(ArraySlice<DocumentPath>)
  }

  /// The content that was read; it is never copied.
  var content: BundleContent
  var phase = Phase.begun
  /// The tracked query that holds the documents, once these are being stored.
  var bundleTarget: QueryID?
  private let completion: Completion

  init(_ content: consuming BundleContent, _ completion: @escaping Completion) {
    self.content = content
    self.completion = completion
  }

  /// The bytes of the bundle's id.
  var key: [UInt8] { Array(content.metadata.id.utf8) }

  func tell(_ result: Result<BundleProgress, FirestoreError>, _ outbox: Outbox) {
    outbox.addCall { [completion] in completion(result) }
  }

  /// The target under which the documents are held: no server is asked for it.
  func target(in database: DatabaseID) -> DocumentTarget {
    DocumentQuery(.group("__bundle__/docs/" + content.metadata.id), in: database).target
  }
}
