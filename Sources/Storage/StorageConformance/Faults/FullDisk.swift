internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// A store that is filled up to the last byte of a disk, read, emptied, and used again.
final class FullDisk {
  /// When it is closed and opened while the disk is full.
  enum Opening: Sendable {
    case afterDraining
    /// At once, and another program has taken what closing gave back.
    case beforeDraining

    /// A slow machine evicts in many more commits: so once in the smallest slices that there are.
    func change(_ options: inout StorageOptions) {
      if case .beforeDraining = self { options.evictionSlice = .zero }
    }
  }

  private let bench: BackendBench
  private let session: IOSession
  private var twin: Twin
  private var waiting: [WriteID] = []
  private let opening: Opening

  init(_ bench: BackendBench, _ opening: Opening) async throws {
    self.bench = bench
    self.opening = opening
    session = try IOSession.fail(bench.directory, at: nil, with: .shortWrite)
    twin = try await bench.twin { opening.change(&$0) }
  }

  deinit { session.end() }

  func run() async throws {
    try await twin.makeRooms(6)
    try await enqueue(10)
    session.setFull(true)
    try await fill()
    try twin.same("on a full disk")
    try await exchange()
    try twin.same("after commits that remove a little and add more")
    if case .beforeDraining = opening {
      try await twin.backend.close()
      session.setFull(true)
      try await reopen()
      try twin.same("opened on a full disk")
    }
    for (index, id) in waiting.enumerated() {
      try await succeed("finishing write \(index) of \(waiting.count)") {
        try await self.twin.commit(
          .finish(self.twin.lane, id, index % 2 == 0 ? .acknowledged : .discarded))
      }
    }
    try twin.same("after draining the queue on a full disk")
    if bench.factory.evicts {
      try await succeed("evicting") { try await self.twin.evict(to: 0) }
    }
    if case .afterDraining = opening {
      try await twin.backend.close()
      try await reopen()
      try twin.same("opened on a full disk after draining")
    }
    session.setFull(false)
    try await succeed("a write when there is room again") { try await self.enqueue(3) }
    try await succeed("tidying when there is room again") {
      _ = try await self.twin.backend.tidy(.seconds(5))
    }
    try twin.same("with room again")
    try await twin.reopen()
    try twin.same("at the end")
  }

  private func reopen() async throws {
    try await succeed("opening") {
      try await self.twin.reopen { self.opening.change(&$0) }
    }
  }

  private static let large = FaultProgram.text(40_000)
  private static let small = FaultProgram.text(2000)

  /// Queues writes in a commit each, at paths of their own.
  private func enqueue(_ count: Int, _ node: Node = small) async throws {
    for _ in 0..<count {
      let edit = StorageEdit.enqueue(twin.lane, .set(Path("out/w\(waiting.count)"), node))
      let receipt = try await twin.backend.commit([edit], bench.factory.declared.strongest)
      waiting += receipt.writes
      _ = try twin.model.commit([edit])
    }
  }

  /// Queues large and then small writes, each until three in turn are refused.
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
          throw LeftOut("makes no file calls that can be watched")
        }
        try require(taken < 500, .wrongError, "a full disk takes writes without end")
      }
    }
  }

  /// Tries commits that each remove something small and add something large, until three in turn are
  /// refused: what is set aside is not for them.
  private func exchange() async throws {
    var refused = 0
    for number in 0..<200 where refused < 3 {
      guard let small = waiting.last else { return }
      let edits: [StorageEdit] = [
        .finish(twin.lane, small, .discarded),
        .enqueue(twin.lane, .set(Path("out/x\(number)"), Self.large)),
      ]
      do {
        let receipt = try await twin.backend.commit(edits, bench.factory.declared.strongest)
        waiting.removeLast()
        waiting.insert(contentsOf: receipt.writes, at: 0)
        _ = try twin.model.commit(edits)
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
