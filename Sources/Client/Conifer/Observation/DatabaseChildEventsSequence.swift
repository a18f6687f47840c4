import ConiferSync

/// An async sequence of batches of child events, each with all events since the batch before.
///
/// Each iterator is an observer of its own, until it goes, its task is cancelled or
/// ``DatabaseQuery/removeAllObservers()`` ends it after what it has heard. At most ``limit`` events
/// wait to be read: one more ends the sequence with the error `overflow`, since none may be left out.
public struct ChildEventBatches: AsyncSequence, Sendable {
  /// What came.
  public typealias Element = [DatabaseEvent]
  /// Why it may end.
  public typealias Failure = DatabaseError

  let query: DatabaseQuery
  /// The most events that wait to be read.
  public let limit: Int

  /// Begins to observe.
  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: Subscription(query, .children, .bounded(limit)))
  }

  /// Reads the batches.
  public struct Iterator: AsyncIteratorProtocol {
    private var subscription: Subscription?

    init(subscription: Subscription) { self.subscription = subscription }

    /// The next batch, of at least one event; nil when the task is cancelled.
    public mutating func next() async throws(DatabaseError) -> [DatabaseEvent]? {
      try await next(isolation: nil)
    }

    /// The next batch, of at least one event; nil when the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(DatabaseError) -> [DatabaseEvent]? {
      guard let subscription else { return nil }
      do throws(DatabaseError) {
        if let events = try await subscription.buffer.take(isolation: actor) {
          let database = subscription.query.database
          return events.compactMap { DatabaseEvent(database, $0) }
        }
      } catch {
        self.subscription = nil
        throw error
      }
      self.subscription = nil
      return nil
    }
  }
}

/// An async sequence of a query's child events, one by one, and otherwise as ``ChildEventBatches``.
public struct DatabaseChildEventsSequence: AsyncSequence, Sendable {
  /// What came.
  public typealias Element = DatabaseEvent
  /// Why it may end.
  public typealias Failure = DatabaseError

  let batches: ChildEventBatches

  /// The events of a query's children; see ``DatabaseQuery/childEvents()``.
  public init(_ query: DatabaseQuery) { batches = query.childEventBatches() }

  /// Begins to observe.
  public func makeAsyncIterator() -> Iterator { Iterator(batches: batches.makeAsyncIterator()) }

  /// Reads the events.
  public struct Iterator: AsyncIteratorProtocol {
    private var batches: ChildEventBatches.Iterator
    private var batch: ArraySlice<DatabaseEvent> = []

    init(batches: ChildEventBatches.Iterator) { self.batches = batches }

    /// The next event; nil when the task is cancelled.
    public mutating func next() async throws(DatabaseError) -> DatabaseEvent? {
      try await next(isolation: nil)
    }

    /// The next event; nil when the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(DatabaseError) -> DatabaseEvent? {
      if batch.isEmpty { batch = try await batches.next(isolation: actor)?[...] ?? [] }
      return batch.popFirst()
    }
  }
}

extension DatabaseQuery {
  /// The events of the children: those that are there as added, then each change.
  public final func childEvents() -> DatabaseChildEventsSequence {
    DatabaseChildEventsSequence(self)
  }

  /// The events of the children in batches, which costs less for each of many.
  ///
  /// - Parameter limit: the most events that wait to be read; at least 1.
  public final func childEventBatches(limit: Int = 100_000) -> ChildEventBatches {
    ChildEventBatches(query: self, limit: Swift.max(1, limit))
  }
}
