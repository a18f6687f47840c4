internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// How a damaged store behaved.
enum DamageVerdict: Sendable, Equatable {
  /// It was refused with a typed error, when it was opened or read.
  case refused(StoreError.Code)
  /// It has all data.
  case whole
  /// It lost data and reports that; everything else is right.
  case told
  /// It has the state of an earlier commit, without a report.
  case older
  /// It broke a promise.
  case broken(Anomaly, String)

  /// The name under which it is counted.
  var name: String {
    switch self {
    case .refused: "refused"
    case .whole: "whole"
    case .told: "told"
    case .older: "older"
    case .broken(let anomaly, _): anomaly.rawValue
    }
  }
}

/// Reads all of a damaged store and compares it with what was written.
struct DamageComparison {
  let sample: DamageSample
  /// What the store held after each commit.
  let models: [StorageModel]

  init(_ factory: BackendFactory) throws {
    sample = DamageSample(factory.documents)
    models = try sample.story().models
  }

  /// Judges a store, writes to it, and closes it.
  func verdict(_ backend: any StorageBackend) async -> DamageVerdict {
    var verdict: DamageVerdict
    do throws(StoreError) {
      verdict = try read(backend)
      // Repairs are commits, so the store is read again after them.
      if case .told = verdict { verdict = try read(backend) }
    } catch {
      verdict = refusal(error)
    }
    do throws(StoreError) {
      // A commit may fail because of what was lost; it must only end.
      _ = try await backend.commit([.enqueue(sample.lanes[0], .set("later", 1))], .process)
      for _ in 0..<20 { if try !(await backend.tidy(.milliseconds(50))) { break } }
    } catch {
      if case .broken = verdict {} else if error.message.isEmpty { verdict = refusal(error) }
    }
    try? await backend.close()
    return verdict
  }

  /// The verdict for an error of a damaged store; the error must have a message.
  func refusal(_ error: StoreError) -> DamageVerdict {
    error.message.isEmpty
      ? .broken(.wrongError, "\(error.code) without a message") : .refused(error.code)
  }

  private func read(_ backend: any StorageBackend) throws(StoreError) -> DamageVerdict {
    try backend.readAll { (view) throws(StoreError) in
      guard let newest = models.last else { return .whole }
      let incidents = try view.incidents()
      // How many of its newest commits the store tells are lost.
      let counts = incidents.compactMap { LostCommits.count($0) }
      let lost = Int(clamping: counts.reduce(0) { max($0, $1) })
      guard let difference = try difference(view, newest) else {
        if let verdict = Self.overcount(lost, missing: 0) { return verdict }
        return incidents.isEmpty ? .whole : .told
      }
      // The states that the store may be in by what it tells.
      let isAny = incidents.contains { LostCommits.isUnknown($0) }
      let possible = models.suffix(isAny ? models.count : min(lost, models.count - 1) + 1)
      for (missing, model) in possible.reversed().enumerated().dropFirst()
      where try self.difference(view, model) == nil {
        return Self.overcount(lost, missing: missing) ?? .told
      }
      if incidents.isEmpty {
        for model in models.dropLast().reversed() {
          if try self.difference(view, model) == nil { return .older }
        }
      }
      if let (anomaly, words) = try wrong(view) { return .broken(anomaly, words) }
      if incidents.isEmpty { return .broken(.silentLoss, "nothing was reported: \(difference)") }
      var words: String?
      for model in possible.reversed() {
        guard let missing = try unreportedLoss(view, incidents, of: model) else { return .told }
        if words == nil { words = missing }
      }
      return .broken(.silentLoss, words ?? "")
    }
  }

  /// The most commits that a store makes of its own among its newest: of housekeeping, and when it
  /// is closed.
  private static let mostOwnCommits = 64

  /// The verdict on a report that counts more lost commits than there can have been.
  private static func overcount(_ lost: Int, missing: Int) -> DamageVerdict? {
    guard lost > missing + mostOwnCommits else { return nil }
    return .broken(
      .wrongReport, "\(lost) commits are reported as lost, and \(missing) are missing")
  }

  private func difference(
    _ view: any StorageView, _ model: StorageModel
  ) throws(StoreError) -> String? {
    if let words = try StateDifference(view, ModelView(model)).first() { return words }
    guard model.trees[sample.first] != nil else { return nil }
    let found = try view.metadata(sample.first, "cursor")
    let expected = try ModelView(model).metadata(sample.first, "cursor")
    return found == expected ? nil : "the metadata is \(found ?? [])"
  }

  /// Data that is read and was never written.
  private func wrong(_ view: any StorageView) throws(StoreError) -> (Anomaly, String)? {
    for info in try view.trees() {
      let written = models.compactMap { $0.trees[info.id] }
      guard !written.isEmpty else { return (.phantom, "there is a tree \(info.name)") }
      if info.order == .documents {
        if let found = try wrongDocuments(view, info.id, written) { return found }
      } else if let found = try wrongLeaves(view, info, written) {
        return found
      }
      for lane in try view.lanes(info.id) {
        let known = written.compactMap { $0.lanes[Bytes(lane.identity.utf8)] }.flatMap(\.writes)
        let waiting = try view.entries(lane, after: nil, limit: 100)
        for write in waiting + (try view.rejectedEntries(lane, after: nil, limit: 100))
        where !known.contains(where: { write.difference(from: $0) == nil }) {
          return (.wrongData, "lane \"\(lane.identity)\" has \(write)")
        }
        if waiting.map(\.id) != waiting.map(\.id).sorted() {
          return (.reordered, "lane \"\(lane.identity)\" gives \(waiting.map(\.id.rawValue))")
        }
      }
    }
    return nil
  }

  private func wrongLeaves(
    _ view: any StorageView, _ info: TreeInfo, _ written: [StorageModel.Tree]
  ) throws(StoreError) -> (Anomaly, String)? {
    let leaves = written.map { Leaves($0.root).all }
    for (path, leaf) in Leaves(try view.node(info.id, .root)).all
    where !leaves.contains(where: { $0[path] == leaf }) {
      let isKnown = leaves.contains { $0[path] != nil }
      return (isKnown ? .wrongData : .phantom, "\(info.name) has \(leaf) at \(path)")
    }
    return nil
  }

  /// Data of a state that is missing without a report.
  private func unreportedLoss(
    _ view: any StorageView, _ incidents: [Incident], of model: StorageModel
  ) throws(StoreError) -> String? {
    for (id, tree) in model.trees {
      if tree.info.order == .documents, let words = try unreportedDocuments(view, tree) {
        return words
      }
      let leaves =
        tree.info.order == .documents ? [:] : Leaves(try view.node(id, .root)).all
      let wanted = Leaves(tree.root).all
      for query in tree.queries.values where query.isDefault && query.isComplete {
        guard try view.isComplete(id, query.path) else { continue }
        for path in wanted.keys where query.path.contains(path) && leaves[path] == nil {
          return "\(query.path) is complete without \(path)"
        }
      }
      for lane in sample.lanes where lane.tree == id {
        let waiting = try view.entries(lane, after: nil, limit: 100)
        let found = waiting + (try view.rejectedEntries(lane, after: nil, limit: 100))
        let all = tree.lanes[Bytes(lane.identity.utf8)]?.writes ?? []
        let missing = all.filter { write in !found.contains { $0.id == write.id } }
        for write in missing {
          let words = "write \(write.id.rawValue) of \"\(lane.identity)\""
          let isReported = incidents.contains {
            $0.kind == .writeSetAside && $0.tree == id && $0.place == words && !$0.bytes.isEmpty
          }
          // A store that lost records which it cannot name reports that for the whole store; a report with a
          // number covers so many commits only.
          let isLost = incidents.contains {
            $0.tree.rawValue == 0 && LostCommits.count($0) == nil
          }
          if !isReported, !isLost { return "\(words) is gone" }
        }
      }
    }
    return nil
  }
}

/// The leaves and interior priorities of a node, by path.
private struct Leaves {
  struct Value: Equatable, CustomStringConvertible {
    var leaf: Leaf?
    var priority: Leaf?
    var description: String {
      (leaf?.summary ?? "no value") + (priority.map { ", priority \($0.summary)" } ?? "")
    }

    static func == (a: Value, b: Value) -> Bool {
      func same(_ a: Leaf?, _ b: Leaf?) -> Bool {
        switch (a, b) {
        case (nil, nil): true
        case (let a?, let b?): a.isSame(b)
        default: false
        }
      }
      return same(a.leaf, b.leaf) && same(a.priority, b.priority)
    }
  }

  private(set) var all: [Path: Value] = [:]

  init(_ node: Node) { add(node, .root) }

  private mutating func add(_ node: Node, _ path: Path) {
    if node.leaf != nil || node.priority != nil {
      all[path] = Value(leaf: node.leaf, priority: node.priority?.leaf)
    }
    for child in node.children { add(child.node, path.appending(child.key)) }
  }
}
