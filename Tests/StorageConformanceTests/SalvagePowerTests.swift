#if os(Linux)
  import ConiferStorage
  import Testing

  @testable import StorageConformance

  /// The power is cut while a damaged store is set aside and its queue goes on in a new one.
  @Suite(.enabled(if: IOSession.isAvailable)) struct SalvagePowerTests {
    /// How many points of a salvage are tried.
    private static let most = 24

    @Test(
      "Power that is cut at any file operation of salvaging loses nothing",
      arguments: SalvageOpeningTests.kinds)
    func cut(kind: String) async throws {
      let master = try System.makeTemporaryDirectory()
      defer { System.removeTree(master) }
      try await SalvageOpeningTests.damaged(kind, master)
      let files = try SalvageOpeningTests.files(master + "/store")
      let directory = try System.makeTemporaryDirectory(isFast: true)
      defer { System.removeTree(directory) }
      try Directory.copyFiles(master + "/store", to: directory + "/store", leaving: ["owner"])
      var disk = try SimulatedDisk(holding: directory)
      let entries = try await Self.salvage(kind, directory)
      let step = max(1, entries.count / Self.most)
      for (index, entry) in entries.enumerated() {
        _ = disk.play(entry)
        guard index % step == 0 || index == entries.count - 1 else { continue }
        for image in [DiskImage.durable, .random(UInt64(index))] {
          let cut = try System.makeTemporaryDirectory(isFast: true)
          defer { System.removeTree(cut) }
          try disk.write(image, to: cut)
          let words = "\(kind), after \(index + 1) of \(entries.count), \(entry), image \(image)"
          do {
            let (backend, _) = try await SalvageOpeningTests.configuration(kind, cut)
              .openOrSalvage()
            #expect(try SalvageOpeningTests.writes(backend) == Array(2...20), "\(words)")
            try backend.requireSound()
            try await backend.close()
          } catch {
            Issue.record(error, "\(words)")
          }
          #expect(try SalvageOpeningTests.files(cut + "/store.damaged") == files, "\(words)")
        }
      }
    }

    /// Salvages the store in a directory, and records its file calls.
    private static func salvage(_ kind: String, _ directory: String) async throws -> [IOEntry] {
      let session = try IOSession.record(directory)
      defer { session.end() }
      let (backend, report) = try await SalvageOpeningTests.configuration(kind, directory)
        .openOrSalvage()
      #expect(report != nil)
      try await backend.close()
      return session.entries()
    }
  }
#endif
