import ConiferSync
import ConiferTree
import ConiferWire

/// What waits for the server to confirm what it will do when the connection ends.
struct Disconnects {
  private var waiting: [OperationID: (path: Path, completion: Completion?)] = [:]
  private var last: UInt64 = 0

  typealias Completion = @Sendable (DatabaseError?) -> Void

  mutating func add(_ path: Path, _ completion: Completion?) -> OperationID {
    last += 1
    let id = OperationID(rawValue: last)
    waiting[id] = (path, completion)
    return id
  }

  mutating func remove(_ id: OperationID) -> (path: Path, completion: Completion?)? {
    waiting.removeValue(forKey: id)
  }

  /// Takes all who wait, in order.
  mutating func removeAll() -> [Completion] {
    defer { waiting = [:] }
    return waiting.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap(\.value.completion)
  }
}

extension Engine {
  /// Tells the server what to do when the connection ends.
  func issue(_ request: DisconnectRequest, _ completion: Disconnects.Completion?) {
    guard backend != nil else {
      let error = phaseError
      if let completion { outbox.append { completion(error) } }
      return
    }
    tell(.onDisconnect(disconnects.add(request.path, completion), request))
  }

  func onDisconnectAnswered(_ id: OperationID, _ response: Response) {
    guard let (path, completion) = disconnects.remove(id), let completion else { return }
    let error = DatabaseError(local: response, "The onDisconnect at \(path) failed")
    outbox.append { completion(error) }
  }
}
