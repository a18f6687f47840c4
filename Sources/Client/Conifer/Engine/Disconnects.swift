import ConiferSync
import ConiferTree
import ConiferWire

/// The onDisconnect operations of the app that the server has not confirmed yet.
final class Disconnects {
  typealias Completion = @Sendable (DatabaseError?) -> Void

  private var waiting: [OperationID: (path: Path, completion: Completion?)] = [:]
  /// The number of the last one.
  private var lastNumber: UInt64 = 0
  private let storage: EngineStorage
  private let connection: Connection
  private let outbox: Outbox

  init(_ storage: EngineStorage, _ connection: Connection, _ outbox: Outbox) {
    self.storage = storage
    self.connection = connection
    self.outbox = outbox
  }

  /// Tells the server what to do when the connection ends.
  func issue(_ request: DisconnectRequest, _ completion: Completion?) {
    guard storage.backend != nil else { return tell(completion, storage.error) }
    lastNumber += 1
    let id = OperationID(rawValue: lastNumber)
    waiting[id] = (request.path, completion)
    connection.tell(.onDisconnect(id, request))
  }

  /// The server confirmed or refused it.
  func answered(_ id: OperationID, _ response: Response) {
    end(id) { DatabaseError(response, $0) }
  }

  /// It ended without an answer.
  func givenUp(_ id: OperationID, _ status: LocalStatus) {
    end(id) { DatabaseError(local: status, $0) }
  }

  private func end(_ id: OperationID, _ error: (String) -> DatabaseError?) {
    guard let (path, completion) = waiting.removeValue(forKey: id) else { return }
    tell(completion, error("The onDisconnect at \(path) failed"))
  }

  /// The database is closed.
  func close(_ error: DatabaseError) {
    for (_, entry) in waiting.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      tell(entry.completion, error)
    }
    waiting = [:]
  }

  private func tell(_ completion: Completion?, _ error: DatabaseError?) {
    if let completion { outbox.addCall { completion(error) } }
  }
}

// MARK: - What the app asks for

extension Engine {
  /// Tells the server what to do when the connection ends.
  func onDisconnect(
    _ operation: DisconnectRequest, completion: (@Sendable (DatabaseError?) -> Void)?
  ) {
    steps.post(.onDisconnect(operation, completion))
  }
}
