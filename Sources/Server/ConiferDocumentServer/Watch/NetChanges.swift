import ConiferDocument

/// The net effect of changes on each document: how it was before the first and after the last.
struct NetChanges: Sendable {
  private(set) var all: [DocumentPath: (before: Document, after: Document)] = [:]
  /// The documents in the order of their first changes.
  private(set) var order: [DocumentPath] = []
  /// Whether a document changed more than once, so that the net effect leaves out what it was meanwhile.
  private(set) var leavesOut = false

  init(_ changes: some Sequence<DocumentChange>) {
    for change in changes {
      if all[change.path] == nil {
        order.append(change.path)
        all[change.path] = (change.before, change.after)
      } else {
        all[change.path]?.after = change.after
        leavesOut = true
      }
    }
  }

  subscript(path: DocumentPath) -> (before: Document, after: Document)? { all[path] }
}
