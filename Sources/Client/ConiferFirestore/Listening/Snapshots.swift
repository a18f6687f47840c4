import ConiferDocument
import ConiferDocumentSync
import Synchronization

/// An async sequence of the snapshots of a query or a document, the current one and then one after
/// each change.
///
/// Each iterator is a listener of its own, until it goes or its task is cancelled. A reader that is slower
/// than the changes gets the newest snapshot and none between; the changes of a query's snapshot are those
/// since the one that it read before, so none is lost. It throws what a listener is told once, or
/// `failedPrecondition` when the database is terminated, and ends then.
public struct Snapshots<Element: Sendable>: AsyncSequence, Sendable {
  /// Why it may end.
  public typealias Failure = FirestoreError

  let firestore: Firestore
  let query: Result<DocumentQuery, FirestoreError>
  let options: SnapshotListenOptions
  let element: @Sendable (ListenEvent) throws(FirestoreError) -> Element

  /// Begins to listen.
  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: SnapshotSubscription(firestore, query, options), element: element)
  }

  /// Reads the snapshots.
  public struct Iterator: AsyncIteratorProtocol {
    private var subscription: SnapshotSubscription?
    private var last: (number: Int, snapshot: ViewSnapshot)?
    private let element: @Sendable (ListenEvent) throws(FirestoreError) -> Element

    init(
      subscription: SnapshotSubscription,
      element: @escaping @Sendable (ListenEvent) throws(FirestoreError) -> Element
    ) {
      self.subscription = subscription
      self.element = element
    }

    /// The next snapshot; nil when the task is cancelled.
    public mutating func next() async throws(FirestoreError) -> Element? {
      try await next(isolation: nil)
    }

    /// The next snapshot; nil when the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(FirestoreError) -> Element? {
      guard let subscription else { return nil }
      do throws(FirestoreError) {
        if let event = try await subscription.buffer.take(isolation: actor)?.last {
          return try element(follow(event))
        }
      } catch {
        self.subscription = nil
        throw error
      }
      self.subscription = nil
      return nil
    }

    /// The event for a reader who may have missed some.
    private mutating func follow(_ numbered: SnapshotSubscription.Numbered) -> ListenEvent {
      var event = numbered.event
      if let last, numbered.number != last.number + 1 {
        event = ListenEvent(
          snapshot: event.snapshot.since(last.snapshot), knowledge: event.knowledge)
      } else if last == nil, numbered.number > 1 {
        event = ListenEvent(snapshot: event.snapshot.initial, knowledge: event.knowledge)
      }
      last = (numbered.number, event.snapshot)
      return event
    }
  }
}

/// A listener that lives as long as somebody reads its snapshots.
final class SnapshotSubscription: Sendable {
  /// An event and its place among those of the listener, from 1.
  struct Numbered: Sendable {
    let number: Int
    let event: ListenEvent
  }

  let buffer: EventBuffer<Numbered, FirestoreError>
  private let listening: ListenerHandle
  private let firestore: Firestore
  private let waiting: ListenerID

  init(
    _ firestore: Firestore, _ query: Result<DocumentQuery, FirestoreError>,
    _ options: SnapshotListenOptions
  ) {
    let buffer = EventBuffer<Numbered, FirestoreError>(.newest) { limit in
      FirestoreError(.internal, "\(limit) snapshots were waiting to be read. Report it.")
    }
    self.buffer = buffer
    self.firestore = firestore
    let count = Atomic(0)
    waiting = firestore.whenTerminated { buffer.end(.failure(.terminated)) }
    listening = firestore.listen(query, options) { result in
      switch result {
      case .success(let event):
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        buffer.add(Numbered(number: number, event: event))
      case .failure(let error): buffer.end(.failure(error))
      }
    }
  }

  deinit {
    firestore.forget(waiting)
    listening.remove()
  }
}

extension Query {
  /// The snapshots, now and after each change.
  public final var snapshots: Snapshots<QuerySnapshot> { snapshots() }

  /// The snapshots, now and after each change.
  ///
  /// - Parameter includeMetadataChanges: whether some come that differ in their metadata alone.
  public final func snapshots(
    includeMetadataChanges: Bool = false
  ) -> Snapshots<QuerySnapshot> {
    snapshots(
      options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges))
  }

  /// The snapshots, now and after each change.
  ///
  /// - Parameter options: where from, and whether changes of metadata count.
  public final func snapshots(options: SnapshotListenOptions) -> Snapshots<QuerySnapshot> {
    Snapshots(
      firestore: firestore, query: Result { () throws(FirestoreError) in try checked() },
      options: options
    ) { [self] (event) throws(FirestoreError) in QuerySnapshot(self, event) }
  }
}

extension DocumentReference {
  /// The snapshots, now and after each change.
  public var snapshots: Snapshots<DocumentSnapshot> { snapshots() }

  /// The snapshots, now and after each change.
  ///
  /// - Parameter includeMetadataChanges: whether some come that differ in their metadata alone.
  public func snapshots(includeMetadataChanges: Bool = false) -> Snapshots<DocumentSnapshot> {
    snapshots(
      options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges))
  }

  /// The snapshots, now and after each change.
  ///
  /// - Parameter options: where from, and whether changes of metadata count.
  public func snapshots(options: SnapshotListenOptions) -> Snapshots<DocumentSnapshot> {
    Snapshots(firestore: firestore, query: query(), options: options) {
      [self] (event) throws(FirestoreError) in
      DocumentSnapshot(self, try target.get(), event)
    }
  }
}
