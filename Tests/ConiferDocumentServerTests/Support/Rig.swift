import ConiferDocument
import ConiferDocumentServer
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Synchronization
import TestSupport
import Testing

let database = DatabaseID(project: "p")
let zero = 1_700_000_000 as Int64

/// A server on a store, with a clock that is moved by hand, and a pump that delivers to its clients.
final class Rig {
  let server: DocumentServer
  let pump: DocumentPump
  let clock: TestClock
  private let scratch: Scratch

  convenience init(
    _ store: TestStore = .memory, seed: UInt64 = 1, access: DocumentAccess = .open,
    history: DocumentHistoryLimits = DocumentHistoryLimits(), clock: TestClock = TestClock(),
    on scratch: Scratch? = nil
  ) throws {
    let scratch = try scratch ?? Scratch()
    try self.init(
      on: store.configuration(scratch), seed: seed, access: access, history: history, clock: clock,
      scratch)
  }

  /// A server on storage of a test's own.
  convenience init(_ backend: GatedBackend, access: DocumentAccess = .open) throws {
    try self.init(
      on: backend.configuration, seed: 1, access: access, history: DocumentHistoryLimits(),
      clock: TestClock(), Scratch())
  }

  private init(
    on storage: StorageConfiguration, seed: UInt64, access: DocumentAccess,
    history: DocumentHistoryLimits, clock: TestClock, _ scratch: Scratch
  ) throws {
    self.scratch = scratch
    self.clock = clock
    pump = DocumentPump(seed: seed)
    server = try DocumentServer(
      DocumentServerConfiguration(
        storage: storage, access: access, history: history,
        clock: { clock.now }))
  }

  /// A server on the same store, after this one was closed.
  func restarted(
    _ store: TestStore, history: DocumentHistoryLimits = DocumentHistoryLimits()
  ) async throws -> Rig {
    try await server.close()
    return try Rig(store, history: history, clock: clock, on: scratch)
  }

  func link(seed: UInt64 = 1) -> DocumentLink {
    DocumentLink(to: database, of: server, .pump(pump), seed: seed)
  }

  /// The service without faults, for requests that are awaited.
  var service: any DocumentService { server.transport(to: database).service }

  /// Delivers until nothing is on its way.
  func waitUntilIdle() async { await pump.run(server) }

  @discardableResult
  func commit(_ writes: Mutation...) async throws -> Timestamp {
    try await server.commit(writes, in: database)
  }

  /// What the server answers instead of doing something.
  func refusal(_ writes: Mutation...) async -> StatusError? {
    do throws(StatusError) {
      _ = try await service.commit(writes, token: nil)
      return nil
    } catch { return error }
  }
}

/// A clock that stands still until it is moved.
final class TestClock: Sendable {
  private let seconds = Mutex(zero)

  var now: Timestamp { (try? Timestamp(seconds: seconds.withLock { $0 })) ?? .zero }

  func advance(_ by: Int64) { seconds.withLock { $0 += by } }
}

// MARK: Short forms

func document(_ path: String) -> DocumentPath {
  do { return try DocumentPath(path) } catch { preconditionFailure("\(error)") }
}

func field(_ path: String) -> FieldPath {
  do { return try FieldPath(dotted: path) } catch { preconditionFailure("\(error)") }
}

func set(_ path: String, _ data: [(String, WriteValue)], if precondition: Precondition = .none)
  throws -> Mutation
{
  let write = try Mutation.set(document(path), data, in: database)
  return Mutation(write.path, write.change, if: precondition)
}

func update(_ path: String, _ data: [(String, WriteValue)]) throws -> Mutation {
  try Mutation.update(document(path), data.map { (field($0.0), $0.1) }, in: database)
}

func merge(_ path: String, _ data: [(String, WriteValue)]) throws -> Mutation {
  try Mutation.merge(document(path), data, in: database)
}

func delete(_ path: String, if precondition: Precondition = .none) throws -> Mutation {
  try Mutation.delete(document(path), if: precondition)
}

func query(_ collection: String) throws -> DocumentQuery {
  DocumentQuery(.collection(try CollectionPath(collection)), in: database)
}

func group(_ id: String) -> DocumentQuery { DocumentQuery(.group(id), in: database) }

func only(_ path: String) -> DocumentQuery {
  DocumentQuery(.document(document(path)), in: database)
}
