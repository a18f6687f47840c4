#if os(Linux)
  import ConiferKeyValue
  import Glibc
  import Testing

  @testable import ConiferStorage
  @testable import StorageConformance

  /// The power is cut while a storage is moved to another backend, in a directory elsewhere.
  @Suite(.enabled(if: IOSession.isAvailable), .timeLimit(.minutes(10))) struct StoreMovePowerTests {
    /// How many points of the copying are tried.
    private static let most = 16
    /// How many operations the end has at most; each is tried.
    private static let end = 48

    private struct Places {
      let pair: [String]
      let base: String
      var source: StorageConfiguration { StoreMoveFixture.storage(pair[0], base + "/a/old") }
      var target: StorageConfiguration { StoreMoveFixture.storage(pair[1], base + "/b/new") }
      var migration: StorageMigration { StorageMigration(from: source, to: target) }
    }

    @Test(
      "Power that is cut at any file operation of a move loses nothing, whoever made the new directory",
      arguments: StoreMoveFixture.circle, [false, true])
    func cut(pair: [String], isMade: Bool) async throws {
      let master = try StoreMoveFixture(pair)
      defer { master.remove() }
      try await master.fill()
      let digest = try await StoreMoveFixture.digest(master.source)
      let places = Places(pair: pair, base: try System.makeTemporaryDirectory(isFast: true))
      defer { System.removeTree(places.base) }
      for name in ["a", "b"] {
        try ConiferStorage.Platform.makeDirectory("\(places.base)/\(name)")
      }
      try Directory.copyFiles(master.from, to: places.base + "/a/old", leaving: [])
      var disk = try SimulatedDisk(holding: places.base)
      let entries = try await Self.record(places, isMade: isMade)
      let step = max(1, entries.count / Self.most)
      for (index, entry) in entries.enumerated() {
        let isChange = disk.play(entry)
        guard index % step == 0 || isChange && index >= entries.count - Self.end else { continue }
        for image in [DiskImage.durable, .random(UInt64(index))] {
          let words = "\(pair), after \(index + 1) of \(entries.count), \(entry), image \(image)"
          do {
            try await Self.expectWhole(disk, image, places, digest, words)
          } catch {
            Issue.record(error, "\(words)")
          }
        }
      }
    }

    private static func expectWhole(
      _ disk: SimulatedDisk, _ image: DiskImage, _ places: Places, _ digest: StoreDigest,
      _ words: String
    ) async throws {
      let cut = Places(pair: places.pair, base: try System.makeTemporaryDirectory(isFast: true))
      defer { System.removeTree(cut.base) }
      try disk.write(image, to: cut.base)
      // Never may both be written to.
      #expect(!(StoreMoveTests.opens(cut.source) && StoreMoveTests.opens(cut.target)), "\(words)")
      let outcome = try await cut.migration.run()
      #expect(outcome == .moved || outcome == .nothingToMove, "\(words)")
      let copied = try await StoreMoveFixture.digest(cut.target)
      #expect(copied == digest, "\(words): \(digest.difference(from: copied) ?? "")")
      #expect(Directory.isEmpty(cut.base + "/a"), "\(words)")
    }

    /// Moves, and records the file calls.
    ///
    /// - Parameter isMade: whether the app makes the new directory, which nobody makes durable.
    private static func record(_ places: Places, isMade: Bool) async throws -> [IOEntry] {
      let session = try IOSession.record(places.base)
      defer { session.end() }
      if isMade { try #require(mkdir(places.base + "/b/new", 0o700) == 0) }
      #expect(try await places.migration.run() == .moved)
      return session.entries()
    }
  }
#endif
