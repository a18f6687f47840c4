public import ConiferStorage

/// One named check that a client on a given backend keeps its promises to apps, offline and across
/// restarts.
///
/// A backend author shows each by name in a test of their own:
///
///     @Test(arguments: ClientCheck.all)
///     func client(_ check: ClientCheck) async throws {
///       try await check.run(in: directory) { .journal(at: $0) }
///     }
///
/// The client, a server and the messages between them are in this process; a restart closes the
/// database and opens it again on the same files.
public struct ClientCheck: Sendable, Identifiable, CustomStringConvertible {
  /// The check's name: the sentence that must be true of a client on the backend.
  public let name: String
  private let body: @Sendable (ClientTrial) async throws -> Void

  init(_ name: String, _ body: @escaping @Sendable (ClientTrial) async throws -> Void) {
    self.name = name
    self.body = body
  }

  /// The name: checks of one name are one check.
  public var id: String { name }
  /// The name.
  public var description: String { name }

  /// All checks; the backend must keep its data in files.
  public static var all: [ClientCheck] { restarts + offline }

  /// Runs the check on a new store.
  ///
  /// - Parameters:
  ///   - directory: where the store's own directory is made; the caller removes it.
  ///   - storage: the backend in a directory that is not there yet.
  /// - Throws: ``ClientFailure`` when the promise is not kept.
  public func run(
    in directory: String, storage: @escaping @Sendable (String) -> StorageConfiguration
  ) async throws {
    let trial = ClientTrial(storage(directory + "/client"))
    do {
      try await body(trial)
    } catch {
      await trial.end()
      throw error
    }
    await trial.end()
  }
}

/// The error of a ``ClientCheck`` that found a broken promise: what was observed, and what was
/// expected.
public struct ClientFailure: Error, CustomStringConvertible {
  /// What was observed, and what was expected.
  public let description: String
}
