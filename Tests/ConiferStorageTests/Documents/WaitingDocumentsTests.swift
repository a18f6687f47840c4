import ConiferDocument
import ConiferKeyValue
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Documents that waiting writes change: which of them a query gives, and which are passed over from the bytes of their rows.
@Suite struct WaitingDocumentsTests {
  private typealias Samples = DocumentSamples

  private static let written = (try? Timestamp(seconds: 100)) ?? .zero

  private static func value(_ random: inout Seeded) -> WriteValue {
    switch random.below(12) {
    case 0: .serverTimestamp
    case 1: .increment(1)
    case 2: .delete
    case 3: .arrayUnion([Samples.scalar(&random)])
    default: .value(Samples.scalar(&random))
    }
  }

  private static func mutation(
    _ path: DocumentPath, _ random: inout Seeded
  ) throws -> Mutation? {
    let fields = Samples.fields.filter { _ in random.chance(50) }.map { ($0, value(&random)) }
    switch random.below(10) {
    case 0: return try Mutation.delete(path)
    case 1...3:
      let data = ["a", "b"].map { ($0, value(&random)) }
      return try? Mutation.set(path, data, in: Samples.database)
    case 4, 5:
      let data = ["a", "b"].filter { _ in random.chance(50) }.map { ($0, value(&random)) }
      return try? Mutation.merge(path, data, in: Samples.database)
    default: return try? Mutation.update(path, fields, in: Samples.database)
    }
  }

  /// The overlay of some writes to a document.
  private static func overlay(
    over base: Document, _ random: inout Seeded
  ) throws -> (Overlay, [MutationBatch])? {
    var batches: [MutationBatch] = []
    for _ in 0...random.below(2) {
      guard let write = try mutation(base.path, &random) else { continue }
      batches.append(MutationBatch([write], written: written) { _ in base })
    }
    return Overlay(of: batches, over: base).map { ($0, batches) }
  }

  private static func content(_ overlay: Overlay) -> Bytes {
    let payload = OverlayRows.payload(overlay)
    return payload.withUnsafeBytes { bytes in
      var reader = LentReader(bytes)
      _ = reader.text()
      return Bytes(reader.rest)
    }
  }

  private static func result(
    _ overlay: Overlay, _ target: DocumentTarget
  ) -> OverlaySieve.Result {
    content(overlay).withUnsafeBytes { OverlaySieve(target).result(LentReader($0)) }
  }

  /// The condition that fields named `a` and so on must meet.
  private static func target(_ filter: Filter) throws -> DocumentTarget {
    try DocumentQuery(.collection(Samples.collections[0]), in: Samples.database).filtered(filter)
      .target
  }

  @Test(arguments: Seeded.seeds(20))
  func `What is passed over does not match, whatever the server says of it`(seed: UInt64) throws {
    var random = Seeded(seed)
    let documents = Samples.documents(&random)
    var passedOver = 0
    for _ in 0..<100 {
      let target = Samples.query(&random, over: documents).target
      let base = random.pick(documents)
      guard let (overlay, _) = try Self.overlay(over: base, &random) else { continue }
      // The server's word may change while the writes wait.
      let words = documents.map {
        Document(base.path, $0.state, version: $0.version, readTime: $0.readTime)
      }
      for word in words {
        let shown = overlay.applied(to: word)
        switch Self.result(overlay, target) {
        case .outside:
          passedOver += 1
          #expect(!target.matchesInSource(shown), "\(target.canonical) of \(overlay) over \(word)")
        case .mayMatch(nil):
          #expect(!overlay.needsFields)
        case .mayMatch(let open?):
          #expect(overlay.needsFields)
          let meets = open.allSatisfy { $0.filter.matches(word) }
          #expect(
            meets || !target.matchesInSource(shown),
            "\(target.canonical) of \(overlay) over \(word)")
        }
      }
    }
    #expect(passedOver > 0)
  }

  @Test func `A document is passed over when a field that is written fails a condition`() throws {
    let path = Samples.path("c/d1")
    let target = try Self.target(
      .and([
        .field(Samples.field("a"), .equal, 1), .field(Samples.field("b"), .greaterThan, 5),
      ]))
    func mask(_ fields: String...) -> FieldMask { FieldMask(fields.map(Samples.field)) }
    func isOutside(_ effect: Overlay.Effect) -> Bool {
      guard case .outside = Self.result(Overlay(path, effect), target) else { return false }
      return true
    }
    /// The fields that the server's word decides.
    func open(_ effect: Overlay.Effect) -> [String]? {
      guard case .mayMatch(let open?) = Self.result(Overlay(path, effect), target) else {
        return nil
      }
      return open.map { $0.filter.field.canonical }
    }
    #expect(isOutside(.delete))
    #expect(isOutside(.set(["a": 2, "b": 6])))
    #expect(isOutside(.set(["a": 1])))
    #expect(!isOutside(.set(["a": 1, "b": 6])))
    #expect(isOutside(.patch(["a": 2], mask("a"))))
    // Listed and not written: deleted.
    #expect(isOutside(.patch(["a": 1], mask("a", "b"))))
    #expect(open(.patch(["a": 1], mask("a"))) == ["b"])
    #expect(open(.patch(["c": 1], mask("c"))) == ["a", "b"])
    #expect(open(.patch(["a": 1, "b": 6], mask("a", "b"))) == [])
    // A field within one that is compared is written: only the whole document tells.
    #expect(open(.patch(["a": ["x": 1]], mask("a.x"))) == ["b"])
    // Bytes that hold no overlay are for the decoder.
    for bytes in [[], [9], [2], [2, 1]] as [Bytes] {
      let result = bytes.withUnsafeBytes { OverlaySieve(target).result(LentReader($0)) }
      guard case .mayMatch(let open?) = result, open.isEmpty else {
        Issue.record("\(bytes)")
        continue
      }
    }
  }

  @Test(arguments: Seeded.seeds(15))
  func `A query gives what waiting writes make of all documents`(seed: UInt64) async throws {
    var random = Seeded(seed)
    let backend = try StorageConfiguration.memory.open().keepingDocuments()
    let tree = try await backend.tree(named: "t", order: .documents)
    let lane = Lane(tree: tree)
    let documents = Samples.documents(&random)
    let stored = documents.filter { $0.state != .unseen }
    _ = try await backend.commit([.documents(tree, stored.map { .put($0) })], .relaxed)
    for document in documents where random.chance(60) {
      guard let (_, batches) = try Self.overlay(over: document, &random) else { continue }
      _ = try await backend.commit(batches.map { .enqueue(lane, $0.payload) }, .relaxed)
    }
    for _ in 0..<60 {
      let query = Samples.query(&random, over: documents)
      guard (try? query.validate()) != nil else { continue }
      let target = query.target
      let (answer, all) = try backend.readDocuments { (view) throws(StoreError) in
        let answer = try view.query(lane, query).documents
        var all: [Document] = []
        for document in documents { all.append(try view.document(lane, document.path)) }
        return (answer, all)
      }
      let matching = all.filter(target.matches).sorted { target.compare($0, $1) < 0 }
      let first = target.limit.map { Array(matching.prefix($0)) } ?? matching
      let expected = query.limit?.side == .last ? first.reversed() : first
      #expect(answer.map(\.path) == expected.map(\.path), "\(target.canonical)")
      #expect(zip(answer, expected).first { $0 != $1 } == nil, "\(target.canonical)")
    }
    try await backend.close()
  }
}
