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
    DocumentQuery(.group(Self.group + content.metadata.id), in: database).target
  }

  /// What the ids of groups begin with that hold bundles' documents; no collection has such an id.
  private static let group = "__bundle__/docs/"

  /// The id of the bundle whose documents a tracked query holds; nil for other queries.
  static func bundle(of query: TrackedQuery) -> String? {
    guard let zero = query.parameters.utf8.firstIndex(of: 0),
      let id = DocumentTarget.group(ofCanonical: query.parameters[zero...].dropFirst()),
      id.utf8.starts(with: group.utf8)
    else { return nil }
    return String(id.unicodeScalars.dropFirst(group.unicodeScalars.count))
  }
}
