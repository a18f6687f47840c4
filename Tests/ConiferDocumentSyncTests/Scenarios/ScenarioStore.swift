import ConiferDocument
import ConiferDocumentSync
import ConiferWire

/// A store for the scenarios, in plain dictionaries.
struct ScenarioStore {
  struct Target {
    let id: TargetID
    var matched: Set<DocumentPath> = []
    var resumeToken: [UInt8] = []
    var version = Timestamp.zero
  }

  /// Whether what nothing refers to goes at once.
  let isEager: Bool
  var targets: [DocumentTarget: Target] = [:]
  var batches: [(id: BatchID, batch: MutationBatch)] = []
  private var documents: [DocumentPath: Document] = [:]
  private var newest: BatchID = 0

  init(isEager: Bool) { self.isEager = isEager }

  func shown(_ path: DocumentPath) -> Document {
    batches.reduce(documents[path] ?? Document(path, .unseen)) { $1.batch.applied(to: $0) }
  }

  func shown(_ query: DocumentQuery) -> [Document] {
    let target = query.target
    let written = batches.flatMap { $0.batch.mutations.map(\.path) }
    return Set(documents.keys).union(written).map(shown).filter(target.matches)
  }

  func stored(_ query: DocumentQuery) -> StoredQuery {
    let target = targets[query.target]
    return StoredQuery(
      documents: shown(query), matched: target?.matched ?? [],
      resumeToken: target?.resumeToken ?? [], version: target?.version ?? .zero)
  }

  mutating func add(_ mutation: Mutation) -> [Document] {
    newest += 1
    batches.append((newest, MutationBatch([mutation], written: .zero, over: shown)))
    return [shown(mutation.path)]
  }

  /// Takes in what the server said; the documents that it named, as they are shown now.
  mutating func take(_ event: RemoteEvent) -> [Document] {
    for (target, stored) in targets {
      guard let change = event.targets[stored.id] else { continue }
      targets[target]?.matched.formUnion(change.added)
      targets[target]?.matched.subtract(change.removed)
      if event.mismatches[stored.id] != nil {
        targets[target]?.resumeToken = []
        targets[target]?.version = .zero
      } else if !change.resumeToken.isEmpty {
        targets[target]?.resumeToken = change.resumeToken
        targets[target]?.version = event.version
      }
    }
    for (path, document) in event.documents {
      if document.state == .missing && document.version == .zero {
        documents[path] = nil
      } else if documents[path]?.isReplaced(by: document) ?? true {
        documents[path] = document
      }
    }
    return event.documents.keys.map(shown)
  }

  /// Ends the oldest batch with an id; accepted at a time, or refused.
  mutating func end(_ id: BatchID, acceptedAt time: Timestamp?) throws -> [Document] {
    guard let index = batches.firstIndex(where: { $0.id == id }) else { return [] }
    let batch = batches.remove(at: index).batch
    if let time {
      for mutation in batch.mutations {
        let document = documents[mutation.path] ?? Document(mutation.path, .unseen)
        guard document.version < time else { continue }
        documents[mutation.path] = try mutation.acknowledged(
          on: document, updateTime: mutation.change == .delete ? nil : time, commitTime: time)
      }
    }
    return Set(batch.mutations.map(\.path)).map(shown)
  }

  mutating func release(_ target: DocumentTarget) {
    if isEager { targets[target] = nil }
  }

  /// Forgets what nothing refers to, when that is wanted.
  mutating func collect(keeping views: Set<DocumentPath>) {
    guard isEager else { return }
    var kept = targets.values.reduce(into: views) { $0.formUnion($1.matched) }
    for (_, batch) in batches { kept.formUnion(batch.mutations.map(\.path)) }
    documents = documents.filter { kept.contains($0.key) }
  }
}
