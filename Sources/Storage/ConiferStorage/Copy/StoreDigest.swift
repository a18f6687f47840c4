import ConiferDocument
import ConiferKeyValue
import ConiferTree

/// One number for all that a store holds, whatever backend keeps it and however its pieces are cut:
/// a sum of hashes of leaves, queries with their keys, pins, writes, ends, high-water marks, metadata
/// and reports, each with its tree's name and its place.
///
/// The backends' own numbers of trees do not count, and neither do bytes on disk.
package struct StoreDigest: Equatable {
  /// The parts of a digest, by tree and kind.
  package private(set) var sums: [String: UInt64] = [:]
  package private(set) var counts: [String: Int] = [:]

  /// All of it in 16 hexadecimal digits.
  package var text: String {
    var sum: UInt64 = 0
    for (part, value) in sums { sum &+= Self.hash("\(part) \(value) \(counts[part] ?? 0)".utf8) }
    return sum.hex
  }

  /// A description of the first part in which two digests differ; nil when they are equal.
  package func difference(from other: StoreDigest) -> String? {
    for part in Set(sums.keys).union(other.sums.keys).sorted()
    where sums[part] != other.sums[part]
      || counts[part] != other.counts[part]
    {
      return "\(part): \(counts[part] ?? 0) against \(other.counts[part] ?? 0)"
    }
    return nil
  }

  private mutating func add(_ part: String, _ text: String) {
    sums[part, default: 0] &+= Self.hash(text.utf8)
    counts[part, default: 0] += 1
  }

  /// FNV-1a, mixed at the end so that sums of similar texts do not cancel out.
  private static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
    return hash ^ (hash >> 31)
  }
}

extension StoreDigest {
  /// Reads a whole store.
  ///
  /// - Parameter advanced: gets the approximate number of bytes of the cache that were read.
  package static func of(
    _ backend: any StorageBackend, _ advanced: @escaping (Int) -> Void = { _ in }
  ) async throws -> StoreDigest {
    var digest = StoreDigest()
    var done = 0
    let trees = try backend.inspect { try $0.trees() }
    for info in trees {
      digest.add("trees", "\(info.name) \(info.order.rawValue)")
      let part = "data of \(info.name)"
      let walk = TreeWalk(backend: backend, tree: info, cursor: nil) { piece in
        switch piece {
        case .node(let path, let node): digest.add(part, path, node)
        case .children(let path, let children):
          for child in children { digest.add(part, path.appending(child.key), child.node) }
        case .priority(let path, let leaf):
          digest.add(part, "\(place(path)) priority \(words(leaf))")
        }
        done += piece.estimatedSize
        advanced(done)
      }
      if info.order == .documents {
        digest = try backend.inspectDocuments { [digest] view in
          var sum = digest
          try sum.addDocuments(view, info)
          return sum
        }
      } else {
        try await walk.run()
      }
      // A read that met damage is done again, and must add nothing twice.
      digest = try backend.inspect { [digest] view in
        var sum = digest
        try sum.addQueries(view, info)
        try sum.addQueues(view, info)
        return sum
      }
    }
    let names = Dictionary(uniqueKeysWithValues: trees.map { ($0.id, $0.name) })
    return try backend.inspect { [digest] view in
      var (sum, index) = (digest, 0)
      try view.forEachIncident { incident in
        let tree = names[incident.tree] ?? ""
        sum.add(
          "reports", "\(index) \(incident.kind) \(tree) \(incident.place) \(incident.bytes)")
        index += 1
      }
      return sum
    }
  }

  /// A path whose keys cannot run into one another.
  private static func place(_ path: Path) -> String {
    path.keys.map { "\($0.utf8Count):\($0.string)" }.joined(separator: "/")
  }

  /// A text of a leaf that contains its kind and all of its bits.
  private static func words(_ leaf: Leaf) -> String {
    switch leaf {
    case .string(let text): "s\(text.utf8.count):\(text)"
    case .integer(let number): "i\(number)"
    case .double(let number): "d\(number.bitPattern)"
    case .bool(let flag): "b\(flag)"
    case .serverValue(let value): "v\(value)"
    }
  }

  private mutating func add(_ part: String, _ path: Path, _ node: Node) {
    if let leaf = node.leaf {
      let priority = node.priority.map { Self.words($0.leaf) } ?? ""
      return add(part, "\(Self.place(path)) = \(Self.words(leaf)) \(priority)")
    }
    if let priority = node.priority {
      add(part, "\(Self.place(path)) priority \(Self.words(priority.leaf))")
    }
    for child in node.children { add(part, path.appending(child.key), child.node) }
  }

  /// Adds what the server said of documents, and which of them tracked queries match.
  private mutating func addDocuments(_ view: any DocumentView, _ info: TreeInfo) throws {
    var collection: CollectionPath?
    while true {
      let collections = try view.collections(info.id, after: collection, limit: 256)
      for collection in collections {
        var last: DocumentPath?
        while true {
          let documents = try view.documents(info.id, in: collection, after: last, limit: 256)
          for document in documents {
            add(
              "data of \(info.name)",
              "\(document.path) \(document.state) \(document.version) \(document.readTime) "
                + "\(document.writes)")
          }
          guard let end = documents.last?.path else { break }
          last = end
        }
      }
      guard let end = collections.last else { break }
      collection = end
    }
    try view.forEachQuery(info.id) { stored in
      for path in try view.matches(info.id, stored.id) {
        add("keys of queries of \(info.name)", "\(stored.id.rawValue) \(path)")
      }
    }
  }

  private mutating func addQueries(_ view: any StorageView, _ info: TreeInfo) throws {
    let part = "queries of \(info.name)"
    try view.forEachQuery(info.id) { stored in
      let query = stored.query
      add(
        part,
        "\(stored.id.rawValue) \(Self.place(query.path)) \(query.parameters) \(query.isComplete) "
          + "\(query.isKnownMissing) \(query.lastUse) \(query.resumeToken)")
      guard info.order != .documents else { return }
      for key in try view.trackedKeys(info.id, stored.id) {
        add("keys of \(part)", "\(stored.id.rawValue) \(key.string)")
      }
    }
    add(part, "last \(try view.lastQuery(info.id)?.rawValue ?? 0)")
    for pin in try view.pins(info.id) {
      add("pins of \(info.name)", "\(Self.place(pin.path)) \(pin.parameters)")
    }
    var last: String?
    while true {
      let names = try view.metadataNames(info.id, after: last, limit: 256)
      for name in names {
        add("metadata of \(info.name)", "\(name) \(try view.metadata(info.id, name) ?? [])")
      }
      guard let end = names.last else { break }
      last = end
    }
  }

  private mutating func addQueues(_ view: any StorageView, _ info: TreeInfo) throws {
    for lane in try view.lanes(info.id) {
      let part = "queue of \"\(lane.identity)\" in \(info.name)"
      for rejected in [false, true] {
        // The order counts: each write with its place in the lane.
        var index = 0
        try view.forEachWrite(lane, rejected: rejected) { write in
          add(part, "\(rejected) \(index) \(Self.words(write))")
          index += 1
        }
      }
      var after: WriteID?
      while true {
        let ends = try view.finishedWrites(lane, after: after, limit: 256)
        for end in ends {
          add("ends of \(part)", "\(end.id.rawValue) \(end.outcome) \(Self.place(end.path))")
        }
        guard let last = ends.last?.id else { break }
        after = last
      }
      add(part, "newest \(try view.totals(lane).newest?.rawValue ?? 0)")
    }
  }

  private static func words(_ write: QueueEntry) -> String {
    let payload = write.payload
    let touches = payload.touches.map(place).joined(separator: " ")
    return "\(write.id.rawValue) \(write.state) \(write.attempts) \(payload.kind.rawValue) "
      + "\(place(payload.path)) \(touches) \(payload.bytes.count) \(hash(payload.bytes))"
  }
}
