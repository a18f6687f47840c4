import ConiferSync

/// An async sequence of a query's values, the current one and then one after each change: what
/// ``DatabaseQuery/snapshots`` and ``DatabaseQuery/values(as:)`` give.
///
/// Each iterator is an observer of its own, until it goes, its task is cancelled or
/// ``DatabaseQuery/removeAllObservers()`` ends it after what it has heard. A reader that is
/// slower than the changes gets the newest value and none between: each holds all. It throws what an
/// observer's cancel block is given, and what cannot be decoded, and ends then.
public struct Values<Element: Sendable>: AsyncSequence, Sendable {
  /// Why it may end.
  public typealias Failure = DatabaseError

  let query: DatabaseQuery
  let transform: @Sendable (DataSnapshot) throws(DatabaseError) -> Element

  /// Begins to observe.
  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: Subscription(query, .init(.value), .newest), transform: transform)
  }

  /// Reads the values.
  public struct Iterator: AsyncIteratorProtocol {
    private var subscription: Subscription?
    private let transform: @Sendable (DataSnapshot) throws(DatabaseError) -> Element

    init(
      subscription: Subscription,
      transform: @escaping @Sendable (DataSnapshot) throws(DatabaseError) -> Element
    ) {
      self.subscription = subscription
      self.transform = transform
    }

    /// The next value; nil when the task is cancelled or the observer removed.
    public mutating func next() async throws(DatabaseError) -> Element? {
      try await next(isolation: nil)
    }

    /// The next value; nil when the task is cancelled or the observer removed.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(DatabaseError) -> Element? {
      guard let subscription else { return nil }
      do throws(DatabaseError) {
        if let event = try await subscription.buffer.take(isolation: actor)?.last {
          return try transform(DataSnapshot(subscription.query.database, event))
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

/// An async sequence of a query's values as snapshots; see ``DatabaseQuery/snapshots``.
public typealias DatabaseQuerySnapshotsSequence = Values<DataSnapshot>

extension Values where Element == DataSnapshot {
  /// The values of a query; see ``DatabaseQuery/snapshots``.
  public init(_ query: DatabaseQuery) {
    self.init(query: query) { (snapshot) throws(DatabaseError) in snapshot }
  }
}

extension DatabaseQuery {
  /// The values as snapshots, now and after each change.
  public final var snapshots: DatabaseQuerySnapshotsSequence {
    DatabaseQuerySnapshotsSequence(self)
  }

  /// The values decoded, now and after each change; nil where there is nothing.
  ///
  /// - Parameter type: what to make of them.
  public final func values<Value: Decodable & Sendable>(as type: Value.Type) -> Values<Value?> {
    Values(query: self) { (snapshot) throws(DatabaseError) in
      snapshot.exists() ? try snapshot.data(as: type) : nil
    }
  }
}
