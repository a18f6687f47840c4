import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

@testable import ConiferStorage

/// All that a store can be asked, as JSON with a line for each fact: what a golden store's manifest
/// holds. Long texts and bytes stand as their length and their XXH64.
struct StateText {
  private var writer = JSONWriter(pretty: true)

  /// The text of a store's state.
  static func of(_ backend: any StorageBackend) throws -> String {
    try backend.read { (view) throws(StoreError) in
      var text = StateText()
      try text.store(view)
      return String(decoding: text.writer.bytes, as: UTF8.self) + "\n"
    }
  }

  private mutating func store(_ view: any StorageView) throws(StoreError) {
    writer.beginObject()
    writer.key("trees")
    writer.beginArray()
    for info in try view.trees() {
      writer.beginObject()
      member("name", info.name)
      member("number", info.id.rawValue)
      member("order", info.order.rawValue)
      try tree(view, info.id)
      writer.endObject()
    }
    writer.endArray()
    writer.key("incidents")
    writer.beginArray()
    for incident in try view.incidents() {
      writer.string(
        "\(incident.kind.rawValue) in tree \(incident.tree.rawValue) at \(incident.place): "
          + brief(incident.bytes))
    }
    writer.endArray()
    writer.endObject()
  }

  private mutating func tree(_ view: any StorageView, _ tree: TreeID) throws(StoreError) {
    writer.key("root")
    node(try view.node(tree, .root, .all))
    writer.key("childKeys")
    list(try view.childKeys(tree, .root, after: nil, limit: .max).map(\.string))
    writer.key("queries")
    writer.beginArray()
    for stored in try view.trackedQueries(tree, after: nil, limit: .max) {
      let query = stored.query
      writer.beginObject()
      member("number", stored.id.rawValue)
      path(query.path)
      member("parameters", query.parameters)
      member("isComplete", query.isComplete)
      member("isKnownMissing", query.isKnownMissing)
      member("lastUse", query.lastUse)
      member("resumeToken", brief(query.resumeToken))
      writer.key("keys")
      list(try view.trackedKeys(tree, stored.id).map(\.string))
      let found = try view.trackedQuery(tree, query.path, query.parameters)
      member("isFoundByPath", found == stored)
      writer.endObject()
    }
    writer.endArray()
    writer.key("pins")
    writer.beginArray()
    for pin in try view.pins(tree) {
      writer.beginObject()
      path(pin.path)
      member("parameters", pin.parameters)
      writer.endObject()
    }
    writer.endArray()
    writer.key("lanes")
    writer.beginArray()
    for lane in try view.lanes(tree).sorted(by: {
      $0.identity.utf8.lexicographicallyPrecedes($1.identity.utf8)
    }) {
      try queue(view, lane)
    }
    writer.endArray()
    for name in GoldenStory.metadata {
      guard let bytes = try view.metadata(tree, name) else { continue }
      member("metadata \(name.prefix(20))", brief(bytes))
    }
    try usage(view.usage(tree))
  }

  private mutating func queue(_ view: any StorageView, _ lane: Lane) throws(StoreError) {
    writer.beginObject()
    member("identity", lane.identity)
    let totals = try view.totals(lane)
    member(
      "totals",
      "\(totals.pending) pending, \(totals.rejected) rejected, \(totals.bytes) bytes, oldest "
        + "\(totals.oldest?.rawValue ?? 0), newest \(totals.newest?.rawValue ?? 0)")
    writer.key("writes")
    writer.beginArray()
    let writes = try view.writes(lane, after: nil, limit: .max)
    for write in writes + (try view.rejectedWrites(lane, after: nil, limit: .max)) {
      writer.beginObject()
      member("number", write.id.rawValue)
      member("state", text(write.state))
      member("attempts", write.attempts)
      member("kind", write.content.kind.rawValue)
      path(write.content.path)
      writer.key("changes")
      writer.beginArray()
      for change in write.content.changes {
        writer.beginObject()
        path(change.path)
        writer.key("node")
        node(change.node)
        let touching = try view.pendingWrites(lane, touching: change.path)
        member("pendingWrites", touching.map { "\($0.rawValue)" }.joined(separator: " "))
        writer.endObject()
      }
      writer.endArray()
      writer.key("preconditions")
      writer.beginArray()
      for condition in write.content.preconditions {
        writer.beginObject()
        path(condition.path)
        member("hash", condition.hash)
        writer.endObject()
      }
      writer.endArray()
      member("idempotencyID", brief(write.content.idempotencyID))
      member("time", write.content.time)
      writer.endObject()
    }
    writer.endArray()
    writer.key("finished")
    writer.beginArray()
    for number in 1...20 as ClosedRange<UInt64> {
      guard let end = try view.finishedWrite(lane, WriteID(rawValue: number)) else { continue }
      writer.string("\(number) at \(end.path): \(text(end.outcome))")
    }
    writer.endArray()
    writer.endObject()
  }

  private mutating func usage(_ usage: StorageUsage) {
    writer.key("usage")
    writer.beginObject()
    member("leaves", usage.leaves)
    member("runs", usage.runs.stored)
    member("rawRuns", usage.runs.raw)
    member("deltas", usage.deltas.stored)
    member("rawDeltas", usage.deltas.raw)
    member("largeLeaves", usage.largeLeaves.stored)
    member("rawLargeLeaves", usage.largeLeaves.raw)
    member("dictionaries", usage.dictionaries)
    member("dictionaryCount", usage.dictionaryCount)
    member("queue", usage.queue)
    member("trackedQueries", usage.trackedQueries)
    member("pins", usage.pins)
    member("other", usage.other)
    writer.endObject()
  }

  private func text(_ state: WriteState) -> String {
    switch state {
    case .queued: "queued"
    case .sent: "sent"
    case .outcomeUnknown: "outcome unknown"
    case .rejected(let reason): "rejected: \(reason)"
    }
  }

  private func text(_ outcome: WriteOutcome) -> String {
    switch outcome {
    case .acknowledged: "acknowledged"
    case .discarded: "discarded"
    case .superseded(let by): "superseded by \(by.rawValue)"
    }
  }

  private mutating func node(_ node: Node) {
    if let leaf = node.leaf {
      writer.string(text(leaf) + (node.priority.map { ", priority \(text($0.leaf))" } ?? ""))
      return
    }
    writer.beginObject()
    if let priority = node.priority { member(".priority", text(priority.leaf)) }
    for child in node.children {
      writer.key(child.key.string)
      self.node(child.node)
    }
    writer.endObject()
  }

  private func text(_ leaf: Leaf) -> String {
    switch leaf {
    case .string(let text):
      text.utf8.count <= 40 ? "string \(text)" : "string of \(brief(Bytes(text.utf8)))"
    case .integer(let value): "integer \(value)"
    case .double(let value): "double \(value)"
    case .bool(let value): "\(value)"
    case .serverValue(.timestamp): "timestamp"
    case .serverValue(.increment(let delta)): "increment by \(text(delta))"
    case .serverValue(.other(let name)): "server value \(name)"
    }
  }

  private func brief(_ bytes: Bytes) -> String {
    "\(bytes.count) bytes, \(String(XXHash64.hash(bytes), radix: 16))"
  }

  private mutating func list(_ texts: [String]) {
    writer.beginArray()
    for text in texts { writer.string(text) }
    writer.endArray()
  }

  private mutating func path(_ path: Path) {
    writer.key("path")
    list(path.keys.map(\.string))
  }

  private mutating func member(_ name: String, _ text: String) {
    writer.key(name)
    writer.string(text)
  }

  private mutating func member(_ name: String, _ truth: Bool) {
    writer.key(name)
    writer.bool(truth)
  }

  private mutating func member(_ name: String, _ number: some BinaryInteger) {
    writer.key(name)
    writer.integer(Int64(clamping: number))
  }
}
