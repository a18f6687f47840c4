import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// The matching documents of one part of a plan, one after the other; where rows are in the target's
/// order, the documents are too.
struct DocumentStream {
  private enum Kind {
    case key(DocumentPath)
    case rows(DocumentIndexWalk)
    case join(DocumentJoin)
    case done
  }

  private var kind: Kind
  private let run: DocumentExecutor
  /// Documents that were read and not taken yet.
  private var ready: ArraySlice<Document> = []

  init(_ part: DocumentPlan.Part, _ run: DocumentExecutor) {
    self.run = run
    func walk(_ scan: DocumentPlan.Scan) -> DocumentIndexWalk {
      DocumentIndexWalk(run.view, run.indexes[scan.index], scan)
    }
    switch part {
    case .key(let path): kind = .key(path)
    case .rows(let scan): kind = .rows(walk(scan))
    case .join(let scans): kind = .join(DocumentJoin(scans.map(walk)))
    }
  }

  /// How many rows were read.
  var rowCount: Int {
    switch kind {
    case .rows(let walk): walk.count
    case .join(let join): join.count
    case .key, .done: 0
    }
  }

  /// The next document, which is not consumed; nil at the end.
  ///
  /// - Parameter count: about how many more are wanted.
  mutating func peek(_ count: Int) throws(StoreError) -> Document? {
    while ready.isEmpty, try fill(count) {}
    return ready.first
  }

  /// Consumes the document that `peek` returned.
  mutating func pass() { ready.removeFirst() }

  /// Reads on; false at the end.
  private mutating func fill(_ count: Int) throws(StoreError) -> Bool {
    switch kind {
    case .done: return false
    case .key(let path):
      kind = .done
      ready = try run.matching([(path, nil)])[...]
      return true
    case .rows(var walk):
      let rows = try walk.next(count)
      kind = .rows(walk)
      ready = try run.matching(rows, of: walk.rows)[...]
      return !rows.isEmpty
    case .join(var join):
      var named: [(DocumentPath, DocumentExecutor.IndexRowReference?)] = []
      while named.count < count, let (row, rows) = try join.next() {
        named.append((row.entry.path, DocumentExecutor.IndexRowReference(row, of: rows)))
      }
      kind = .join(join)
      ready = try run.matching(named)[...]
      return !named.isEmpty
    }
  }
}
