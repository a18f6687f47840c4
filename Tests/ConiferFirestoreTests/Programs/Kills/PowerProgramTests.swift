import TestSupport
import Testing

@testable import StorageConformance

/// What a client of documents has when its device lost power, by all that a disk may leave then.
@Suite(.enabled(if: IOSession.isAvailable)) struct `Clients of documents that lose power` {
  @Test(arguments: EngineStore.durable)
  func `have each write that was durable, and none is made twice`(store: EngineStore) async throws {
    for seed in Seeded.seeds(8) {
      print("power of clients of documents on \(store.rawValue): CONIFER_SEED=\(seed)")
      let program = try await PowerProgram.record(store, seed: seed)
      defer { program.remove() }
      try #require(!program.lines.isEmpty, "the app was told of no durable write")
      for point in program.points(seed: seed) {
        for image in [DiskImage.durable, .random(seed)] {
          try await check(store, program, seed, point, image) { try await $0.checkQueues() }
        }
      }
      // The server is that of the last call.
      for image in [DiskImage.everything, .durable, .random(seed), .random(seed + 1)] {
        try await check(store, program, seed, program.entries.count, image) {
          try await $0.checkEnds()
        }
      }
    }
  }

  private func check(
    _ store: EngineStore, _ program: PowerProgram, _ seed: UInt64, _ point: Int, _ image: DiskImage,
    _ body: (KillVerdict) async throws -> Void
  ) async throws {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    let told = try program.cut(at: point, image, to: directory)
    if point == program.entries.count { try program.copyServer(to: directory + "/server") }
    let place =
      "\(store.rawValue), seed \(seed), cut at \(point) of \(program.entries.count), \(image)"
    try await body(
      KillVerdict(store, directory, ["a"], told, place, seed: seed, server: .log))
  }
}
