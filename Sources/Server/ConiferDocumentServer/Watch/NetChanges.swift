import ConiferDocument

/// The net effect of changes on each document: how it was before the first and after the last.
struct NetChanges: Sendable {
  private(set) var all: [DocumentPath: (before: Document, after: Document)] = [:]
  /// The documents in the order of their first changes.
  private(set) var order: [DocumentPath] = []

  init(_ changes: some Sequence<DocumentChange>) {
    for change in changes {
      if all[change.path] == nil {
        order.append(change.path)
        all[change.path] = (change.before, change.after)
      } else {
        all[change.path]?.after = change.after
      }
    }
  }

  subscript(path: DocumentPath) -> (before: Document, after: Document)? { all[path] }
}
