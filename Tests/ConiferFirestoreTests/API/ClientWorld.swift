import ConiferDocument
import ConiferEngine
import ConiferStorage
import ConiferWire
import Dispatch
import Foundation
import Logging
import Synchronization
import TestSupport

@testable import ConiferFirestore

/// A database as apps have it, over the real engine, with a server that says what a test has it say.
final class ClientWorld {
  let server = EngineServer()
  let clock = ScriptedClock()
  let errors = LoggedErrors()
  private let scratch: Scratch
  private(set) var configuration: FirestoreConfiguration
  private(set) var firestore: Firestore
  private let engine = Engine()

  private final class Engine: Sendable {
    let newest = Mutex<FirestoreEngine?>(nil)
  }

  /// - Parameter isOnline: whether there is a way to the server at all.
  init(
    _ store: EngineStore = .memory, isOnline: Bool = true,
    _ change: (inout FirestoreConfiguration) -> Void = { _ in }
  ) throws {
    scratch = try Scratch()
    configuration = FirestoreConfiguration(
      projectID: "test", storage: store.configuration(at: scratch.store),
      transport: isOnline ? DocumentTransport(server, description: "a script") : nil)
    configuration.clock = clock
    configuration.housekeeping = .off
    configuration.random = { .max / 2 }
    configuration.callbackQueue = CallbackQueue(queue: .global()) { $0() }
    configuration.logger = errors.logger
    change(&configuration)
    firestore = Firestore(FirestoreConfiguration(projectID: "unset"))
    firestore = makeFirestore()
  }

  private func makeFirestore() -> Firestore {
    Firestore(configuration) { [engine] configuration in
      let made = FirestoreEngine(configuration)
      engine.newest.withLock { $0 = made }
      return made
    }
  }

  /// Lets all happen that is under way.
  func waitUntilIdle() async {
    repeat { await engine.newest.withLock { $0 }?.waitUntilIdle() } while server.deliver()
  }

  /// Ends the database, and makes another one on the same storage.
  func restart() async throws {
    try await end()
    firestore = makeFirestore()
  }

  func end() async throws {
    try await firestore.terminate()
    server.drop()
  }

  /// The target that a query or a document is listened to by.
  func target(_ path: String) throws -> TargetID? {
    server.targets.first { "\($0.value)".contains(path) }?.key
  }
}
