import ConiferDocument
import ConiferWire

/// What a transaction has read, and must find unchanged when it commits.
struct TransactionReads: Sendable {
  /// The documents with their versions; zero of those that were missing.
  private(set) var documents: [DocumentPath: Timestamp] = [:]
  /// The queries, with the times as of which they were answered. Limits are ignored: a change
  /// beyond a query's limit counts as a conflict too.
  private(set) var targets: [(target: DocumentTarget, time: Timestamp)] = []
  /// About how many bytes it takes.
  private(set) var size = 0

  /// How many reads there are.
  var count: Int { documents.count + targets.count }

  /// What was read of documents.
  init(_ found: some Sequence<Document> = []) {
    for document in found { note(document.path, document.fields == nil ? .zero : document.version) }
  }

  /// What was read of a query.
  init(_ target: DocumentTarget, at time: Timestamp) {
    targets = [(target, time)]
    size = target.canonical.utf8.count
  }

  private mutating func note(_ path: DocumentPath, _ version: Timestamp) {
    // The first version counts. If the document changed since, the transaction has seen two
    // versions, and must fail.
    guard documents[path] == nil else { return }
    documents[path] = version
    size += path.size
  }

  /// Takes in what was read later.
  mutating func add(_ other: TransactionReads) {
    for (path, version) in other.documents { note(path, version) }
    targets += other.targets
    size += other.targets.reduce(0) { $0 + $1.target.canonical.utf8.count }
  }

  /// Why a transaction is not made.
  static func conflict(_ what: String) -> StatusError {
    StatusError(
      .aborted, "\(what) was changed since the transaction read it. Run the transaction again.")
  }
}
