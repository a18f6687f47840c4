internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// Fills a store up to the last byte of a disk, reads it, empties it, and uses it again.
final class FullDisk {
  /// When the store is closed and opened while the disk is full.
  enum Opening: Sendable {
    case afterDraining
    /// At once, after another program has taken the space that closing freed.
    case beforeDraining

    /// A slow machine evicts in many more commits, so one run uses the smallest slices.
    func change(_ options: inout StorageOptions) {
      if case .beforeDraining = self { options.evictionSlice = .zero }
    }
  }

  private let fixture: BackendFixture
  private let session: IOSession
  private var pair: ModelPair
  private var waiting: [WriteID] = []
  private let opening: Opening

  init(_ fixture: BackendFixture, _ opening: Opening) async throws {
    self.fixture = fixture
    self.opening = opening
    session = try IOSession.fail(fixture.directory, at: nil, with: .shortWrite)
    pair = try await fixture.pair { opening.change(&$0) }
  }

  deinit { session.end() }

  func run() async throws {
    try await pair.makeRooms(6)
    try await enqueue(10)
    try await storeDocuments()
    session.setFull(true)
    try await fill()
    try pair.requireSame("on a full disk")
    try await exchange()
    try pair.requireSame("after commits that remove a little and add more")
    if case .beforeDraining = opening {
      try await pair.backend.close()
      session.setFull(true)
      try await reopen()
      try pair.requireSame("opened on a full disk")
    }
    for (index, id) in waiting.enumerated() {
      try await succeed("finishing write \(index) of \(waiting.count)") {
        try await self.pair.commit(
          .finish(self.pair.lane, id, index % 2 == 0 ? .acknowledged : .discarded))
      }
    }
    try await drainDocuments()
    try pair.requireSame("after draining the queue on a full disk")
    if fixture.factory.evicts {
      try await succeed("evicting") { try await self.pair.evict(to: 0) }
    }
    if case .afterDraining = opening {
      try await pair.backend.close()
      try await reopen()
      try pair.requireSame("opened on a full disk after draining")
    }
    session.setFull(false)
    try await succeed("a write when there is room again") { try await self.enqueue(3) }
    try await succeed("tidying when there is room again") {
      _ = try await self.pair.backend.tidy(.seconds(5))
    }
    try pair.requireSame("with room again")
    try await pair.reopen()
    try pair.requireSame("at the end")
  }

  private func reopen() async throws {
    try await succeed("opening") {
      try await self.pair.reopen { self.opening.change(&$0) }
    }
  }

  private static let large = FaultProgram.text(40_000)
  private static let small = FaultProgram.text(2000)

  /// Queues writes in a commit each, at paths of their own.
  private func enqueue(_ count: Int, _ node: Node = small) async throws {
    for _ in 0..<count {
      let edit = StorageEdit.enqueue(pair.lane, .set(Path("out/w\(waiting.count)"), node))
      let receipt = try await pair.backend.commit([edit], fixture.factory.declared.strongest)
      waiting += receipt.writes
      _ = try pair.model.commit([edit])
    }
  }

  /// Stores documents, and queues writes to them, where some are kept.
  private func storeDocuments() async throws {
    guard let documents = fixture.factory.documents else { return }
    try await pair.makeDocuments()
    let kinds: [DocumentChange.Kind] =
      [.put, .enqueue, .match] + (documents.indexing ? [.index] : [])
    for number in 0..<40 {
      let change = DocumentChange(kind: kinds[number % kinds.count], seed: UInt64(900 + number))
      try await pair.commit(try change.edits(pair.model))
    }
    try await growOverlay()
  }

  /// Queues pairs of writes to a document. When the first write of a pair ends, the overlay of the
  /// second one becomes larger.
  private func growOverlay() async throws {
    guard let tree = pair.documents else { return }
    let lane = Lane(tree: tree)
    for number in 0..<8 {
      let path = try DocumentPath("grows/d\(number)")
      let text = Self.small.leaf.map { "\($0)" } ?? ""
      try await pair.commit(.documents(tree, [.put(Document(path, .found(["a": 1])))]))
      let fields: MapValue = ["b": .string(text)]
      let update = ConiferDocument.Mutation(
        path, .patch(fields, FieldMask([FieldPath(unchecked: ["b"])]), []), if: .exists(true))
      for mutation in [ConiferDocument.Mutation(path, .delete), update] {
        let batch = MutationBatch([mutation], written: .zero) { Document($0, .unseen) }
        try await pair.commit(.enqueue(lane, batch.payload))
      }
    }
  }

  /// Answers all writes to documents and stores what a client stores with an answer: the resulting
  /// documents, and the token of the stream.
  private func drainDocuments() async throws {
    guard let tree = pair.model.documents else { return }
    for identity in DocumentChange.identities {
      let lane = Lane(tree: tree.info.id, identity: identity)
      for write in tree.lanes[Bytes(identity.utf8)]?.writes ?? [] {
        let text = String(repeating: "x", count: 400)
        let fields: MapValue = ["answer": .string("\(write.id) \(text)")]
        let answer = (MutationBatch(write.payload)?.paths ?? []).map {
          DocumentEdit.put(Document($0, .found(fields)))
        }
        try await succeed("finishing write \(write.id) to documents") {
          try await self.pair.commit(
            .finish(lane, write.id, .acknowledged),
            .setMetadata(lane.tree, "token", Array("\(write.id)".utf8)),
            .documents(lane.tree, answer))
        }
      }
    }
  }

  /// Queues large and then small writes, each until three in a row are refused.
  private func fill() async throws {
    for node in [Self.large, Self.small] {
      var (refused, taken) = (0, 0)
      while refused < 3 {
        do {
          try await enqueue(1, node)
          (refused, taken) = (0, taken + 1)
        } catch let error as StoreError {
          try require(
            error.code == .full, .wrongError, "a write on a full disk failed with \(error)")
          refused += 1
        }
        if taken >= 500, session.operationCount == 0 {
          throw NotApplicable("makes no file calls that can be watched")
        }
        try require(taken < 500, .wrongError, "a full disk takes writes without end")
      }
    }
  }

  /// Tries commits that each remove something small and add something large, until three in a row
  /// are refused: the reserve is not for them.
  private func exchange() async throws {
    var refused = 0
    for number in 0..<200 where refused < 3 {
      guard let small = waiting.last else { return }
      let edits: [StorageEdit] = [
        .finish(pair.lane, small, .discarded),
        .enqueue(pair.lane, .set(Path("out/x\(number)"), Self.large)),
      ]
      do {
        let receipt = try await pair.backend.commit(edits, fixture.factory.declared.strongest)
        waiting.removeLast()
        waiting.insert(contentsOf: receipt.writes, at: 0)
        _ = try pair.model.commit(edits)
        refused = 0
      } catch {
        try require(
          error.code == .full, .wrongError, "an exchange on a full disk failed with \(error)")
        refused += 1
      }
    }
    try require(
      refused == 3, .wrongError, "a full disk takes commits without end that remove a little")
  }

  /// Requires that something succeeds.
  private func succeed(_ what: String, _ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as StoreError {
      throw ConformanceFailure(.refused, "\(what) on a full disk failed with \(error)")
    }
  }
}
