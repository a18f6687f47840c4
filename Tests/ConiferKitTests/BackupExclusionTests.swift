import Conifer
import ConiferStorage
import TestSupport
import Testing

@testable import ConiferKit

#if canImport(Darwin)
  import Foundation
#endif

/// What is left out of a device's backups.
@Suite struct `Backups` {
  @Test func `leave out what is kept of a server, from each opening on`() async throws {
    let scratch = try Scratch()
    let marked = Gathered<String>()
    let storage = StorageConfiguration.sqlite(at: scratch.store)
      .excludedFromBackups(true) { marked.add($0) }
    #expect(storage.location == scratch.store && storage.name == "sqlite")
    #expect(marked.all.isEmpty)
    for _ in 0..<2 { try await storage.with(storage.options).open().close() }
    #expect(marked.all == [scratch.store, scratch.store])
    // Also the writes that other processes leave beside it.
    try CompanionDatabase(DatabaseConfiguration(storage: storage)).setValue(1, at: "x", as: "")
    try await storage.with(storage.options).open().close()
    #expect(marked.all.suffix(2) == [scratch.store, Mailbox(of: scratch.store).directory])
    // A second process reads it as before.
    #expect(throws: Never.self) { try storage.openReader() }
    // What no server has is backed up.
    try await StorageConfiguration.sqlite(at: scratch.store)
      .excludedFromBackups(false) { marked.add($0) }.open().close()
    #expect(marked.all.count == 4)
  }

  #if canImport(Darwin)
    @Test func `know the mark`() async throws {
      let scratch = try Scratch()
      let storage = StorageConfiguration.sqlite(at: scratch.store).excludedFromBackups(true)
      try await storage.open().close()
      let values = try URL(filePath: scratch.store)
        .resourceValues(forKeys: [.isExcludedFromBackupKey])
      #expect(values.isExcludedFromBackup == true)
    }
  #endif
}
