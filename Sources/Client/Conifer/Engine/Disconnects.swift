import ConiferSync
import ConiferTree
import ConiferWire

/// What the server is to do when the connection ends, until it has confirmed that.
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

  /// The server confirmed it, or did not.
  func answered(_ id: OperationID, _ response: Response) {
    guard let (path, completion) = waiting.removeValue(forKey: id) else { return }
    tell(completion, DatabaseError(local: response, "The onDisconnect at \(path) failed"))
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
