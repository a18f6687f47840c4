import ConiferQuery
import ConiferSync

/// An observer that lives as long as somebody reads its events.
final class Subscription: Sendable {
  let buffer: EventBuffer<DataEvent, DatabaseError>
  let query: DatabaseQuery
  private let id = ListenerID(.next())

  init(
    _ query: DatabaseQuery, _ kinds: DataEvent.Kinds,
    _ policy: EventBuffer<DataEvent, DatabaseError>.Policy
  ) {
    let buffer = EventBuffer<DataEvent, DatabaseError>(policy) { limit in
      DatabaseError(.overflow, "\(limit) events were waiting to be read, and one more came.")
    }
    self.buffer = buffer
    self.query = query
    if let error = query.error {
      buffer.end(.failure(error))
    } else {
      query.engine.observe(
        id, query.target, kinds, event: { buffer.add($0) },
        cancel: { buffer.end(.failure($0)) }, removed: { buffer.end(.success(())) })
    }
  }

  deinit { query.engine.stopObserving(id) }
}
