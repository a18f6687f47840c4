import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import Dispatch
import Foundation
import JournalStore
import Synchronization

@testable import Conifer

/// A device whose processes are killed, and whose data survives: in memory, or in files.
final class Mortal: Sendable {
  private struct State {
    var life = Life()
    /// How many processes were killed.
    var deaths = 0
  }

  private let store: Store
  private let directory: String
  private let memory = MemoryStore()
  private let state = Mutex(State())

  init(_ store: Store, at directory: String) {
    self.store = store
    self.directory = directory
  }

  /// The process that runs.
  var life: Life { state.withLock { $0.life } }

  /// Keeps the files as the killed process left them; it has done its last commit, and not closed.
  func die() throws {
    guard store != .memory else { return }
    let deaths = state.withLock { state in
      state.deaths += 1
      return state.deaths
    }
    guard FileManager.default.fileExists(atPath: files(deaths - 1)) else { return }
    try FileManager.default.copyItem(atPath: files(deaths - 1), toPath: files(deaths))
  }

  /// The next process.
  func rise() {
    let deaths = state.withLock { state in
      state.life = Life()
      return state.deaths
    }
    if deaths > 0 { try? FileManager.default.removeItem(atPath: files(deaths - 1)) }
  }

  /// The files of the processes after so many deaths.
  private func files(_ deaths: Int) -> String { "\(directory)/life\(deaths)" }

  /// The device's storage; each opening is of the process that runs then.
  var storage: StorageConfiguration {
    var options = StorageOptions()
    if store == .memory { options.compression = .none }
    return StorageConfiguration(name: store.rawValue, location: nil, options: options) {
      [self] (options) throws(StoreError) in
      let (life, deaths) = state.withLock { ($0.life, $0.deaths) }
      // Not every store makes its directory.
      try? FileManager.default.createDirectory(
        atPath: files(deaths), withIntermediateDirectories: true)
      return try PackedBackend.open(
        MortalStore(try open(files(deaths)), life, closes: store != .memory),
        name: store.rawValue, options: options)
    }
  }

  private func open(_ files: String) throws(StoreError) -> any OrderedStore {
    switch store {
    case .memory: memory
    case .lmdb: try LMDBStore(at: files, LMDBOptions())
    case .sqlite: try SQLiteStore(at: files, SQLiteOptions())
    case .log: try LogStore(at: files, LogOptions())
    case .journal: try JournalStore(at: files)
    }
  }

  /// Runs callbacks at once, on the engine's thread, as long as the process lives.
  func callbacks(_ queue: DispatchQueue) -> CallbackQueue {
    let life = life
    return CallbackQueue(queue: queue) { work in if !life.isOver { work() } }
  }
}

/// What one process sees of a store that outlives it.
private final class MortalStore: OrderedStore {
  private let store: any OrderedStore
  private let life: Life
  private let closes: Bool

  init(_ store: any OrderedStore, _ life: Life, closes: Bool) {
    self.store = store
    self.life = life
    self.closes = closes
  }

  var traits: StoreTraits { store.traits }
  var findings: [StoreFinding] { store.findings }
  func acknowledgeFindings() throws(StoreError) { try store.acknowledgeFindings() }
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
    try store.verify(found)
  }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try life.commit { () throws(StoreError) in try store.apply(batch, durability) }
  }
  func view() throws(StoreError) -> any OrderedView {
    try life.check()
    return try store.view()
  }
  func size() throws(StoreError) -> StoreSize { try store.size() }
  func harden(_ upTo: CommitID) throws(StoreError) {
    try life.check()
    try store.harden(upTo)
  }
  func tidy(_ slice: Duration) throws(StoreError) -> Bool { false }
  func suspend() throws(StoreError) {}
  func resume() throws(StoreError) {}
  func close() throws(StoreError) { if closes { try store.close() } }
}
