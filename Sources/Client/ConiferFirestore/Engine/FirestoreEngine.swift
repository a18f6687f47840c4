package import ConiferDocument
package import ConiferDocumentSync
package import ConiferEngine
import ConiferKeyValue
package import ConiferStorage
import ConiferWire

/// The engine behind a `Firestore`: storage, listeners, streams to the server and callbacks, joined on one thread.
///
/// Whatever is asked of it, and whatever the server says, is a step; one step ends before the next one begins, so that
/// none sees half of another's effects.
package final class FirestoreEngine: DocumentEngine {
  let setup: FirestoreConfiguration
  let steps: StepQueue<DocumentLoop>
  let registry: ListenerRegistry

  /// An engine that opens its storage at once, on its own thread.
  package init(_ configuration: FirestoreConfiguration) {
    let registry = ListenerRegistry()
    setup = configuration
    self.registry = registry
    steps = StepQueue { steps in DocumentLoop(configuration, registry, steps) }
    steps.post(.open)
  }

  /// Has a closure run between two steps.
  func run(
    _ need: DocumentStep.Need = .none, _ body: @escaping @Sendable (DocumentLoop) -> Void
  ) { steps.post(.run(need, body)) }

  /// A closure of the app's that is called no longer once the end has begun.
  func untilEnd<R>(_ told: @escaping @Sendable (R) -> Void) -> @Sendable (R) -> Void {
    { [registry] in if !registry.isEnded { told($0) } }
  }

  // MARK: Network and end

  /// Lets the network be used, or not.
  package func setNetwork(
    _ isEnabled: Bool, _ told: @escaping @Sendable (FirestoreError?) -> Void
  ) {
    let told = untilEnd(told)
    run { loop in
      loop.network.setWanted(isEnabled)
      loop.outbox.addCall { told(nil) }
    }
  }

  /// Somebody signed in or out: the token provider is asked anew.
  package func tokenDidChange() { steps.post(.tokenDidChange) }

  /// Ends all; called back once the store is closed.
  package func terminate(_ told: @escaping @Sendable (FirestoreError?) -> Void) {
    registry.end()
    steps.post(.close { [queue = setup.callbackQueue] in queue.async { told(nil) } })
  }
}

// MARK: - Reading

extension FirestoreEngine {
  /// Begins to listen.
  package func listen(
    _ id: ListenerID, _ query: DocumentQuery, _ options: ListenOptions,
    _ told: @escaping @Sendable (Result<ListenEvent, FirestoreError>) -> Void
  ) {
    registry.add(id, told)
    run { $0.listening.listen(id, query, options) }
  }

  /// Ends a listener of either kind.
  package func unlisten(_ id: ListenerID) {
    registry.remove(id)
    run { $0.listening.unlisten(id) }
  }

  /// Reads a document once.
  package func get(
    _ path: DocumentPath, _ source: GetSource,
    _ told: @escaping @Sendable (Result<GotDocument, FirestoreError>) -> Void
  ) {
    let told = untilEnd(told)
    run(.writesBefore) { $0.gets.get(path, source, told) }
  }

  /// Reads what a query gives once.
  package func get(
    _ query: DocumentQuery, _ source: GetSource,
    _ told: @escaping @Sendable (Result<ListenEvent, FirestoreError>) -> Void
  ) {
    let told = untilEnd(told)
    run(.writesBefore) { $0.gets.get(query, source, told) }
  }

  /// Computes numbers of what a query finds.
  package func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], _ source: GetSource,
    _ told: @escaping @Sendable (Result<AggregateAnswer, FirestoreError>) -> Void
  ) {
    let told = untilEnd(told)
    run(.writesBefore) { $0.gets.aggregate(query, aggregates, source, told) }
  }

  /// Begins to tell that all listeners are of one moment.
  package func listenInSync(_ id: ListenerID, _ told: @escaping @Sendable () -> Void) {
    run { [registry] loop in
      registry.addInSync(id, told)
      loop.outbox.addCall { registry.tellInSync(id) }
    }
  }
}

// MARK: - Writing

extension FirestoreEngine {
  /// Queues writes that the server makes whole or not at all.
  package func write(
    _ writes: [Mutation], _ ended: (@Sendable (FirestoreError?) -> Void)?
  ) -> WriteReceipt {
    let ended = ended.map { untilEnd($0) }
    if writes.isEmpty {
      if let ended { run { $0.outbox.addCall { ended(nil) } } }
      return .nothing(setup.options.durability.wanted)
    }
    let receipt = WriteReceipt()
    let completion = ended.map { ended -> @Sendable (DatabaseError?) -> Void in
      { ended($0.map { FirestoreError($0) }) }
    }
    steps.post(.write(writes, WriteCaller(receipt: receipt, completion: completion)))
    return receipt
  }

  /// Calls once all writes of now were accepted or refused.
  package func waitForPendingWrites(_ told: @escaping @Sendable (FirestoreError?) -> Void) {
    let told = untilEnd(told)
    run(.queue(isChange: false)) { $0.writes.wait(told) }
  }

  /// The server's documents, for a transaction.
  package func lookup(_ paths: [DocumentPath]) async throws(FirestoreError) -> [Document] {
    try await asking { (service, token) throws(StatusError) in
      try await service.lookup(paths, token: token)
    }
  }

  /// Makes the writes of a transaction.
  package func commit(_ writes: [Mutation]) async throws(FirestoreError) {
    _ = try await asking { (service, token) throws(StatusError) in
      try await service.commit(writes, token: token)
    }
  }

  /// Asks the server something with the user's token.
  private func asking<R: Sendable>(
    _ question: @Sendable (any DocumentService, String?) async throws(StatusError) -> R
  ) async throws(FirestoreError) -> R {
    guard let service = setup.effectiveTransport?.service else {
      throw FirestoreError(DocumentGets.offline)
    }
    let token: Result<String?, FirestoreError> = await withCheckedContinuation { continuation in
      run { loop in
        loop.withToken { continuation.resume(returning: $0) }
      }
    }
    let text = try token.get()
    do throws(StatusError) {
      return try await question(service, text)
    } catch {
      if error.code == .unauthenticated { run { $0.user.invalidateToken() } }
      throw FirestoreError(error)
    }
  }
}

// MARK: - The queue

extension FirestoreEngine {
  /// Asks something about the user's queue between two steps.
  private func asking<R: Sendable>(
    isChange: Bool = false,
    _ question: @escaping @Sendable (DocumentQueue) throws(FirestoreError) -> R
  ) async throws(FirestoreError) -> R {
    let result: Result<R, FirestoreError> = await withCheckedContinuation { continuation in
      run(.queue(isChange: isChange)) { loop in
        do throws(FirestoreError) {
          continuation.resume(returning: .success(try question(loop.queue)))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }

  /// How a write ended that may be of an earlier run; waits until it has.
  package func outcome(
    of id: WriteReceipt.ID
  ) async throws(FirestoreError) -> WriteReceipt.Outcome {
    let receipt = WriteReceipt()
    let known = try await asking { (queue) throws(FirestoreError) in
      try queue.outcome(of: id, receipt)
    }
    if let known { return known }
    do throws(DatabaseError) {
      return try await receipt.outcome
    } catch {
      throw FirestoreError(error)
    }
  }

  /// A window of the user's writes that wait or were refused.
  package func pendingWrites(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) async throws(FirestoreError) -> [PendingDocumentWrite] {
    try await asking { (queue) throws(FirestoreError) in
      try queue.list(after: number, limit: limit, rejectedOnly: rejectedOnly)
    }
  }

  /// Queues a refused write again, in its old place.
  package func retry(_ id: WriteReceipt.ID) async throws(FirestoreError) {
    try await asking(isChange: true) { (queue) throws(FirestoreError) in try queue.retry(id) }
  }

  /// Gives up a write that is not on its way.
  package func discard(_ id: WriteReceipt.ID) async throws(FirestoreError) {
    try await asking(isChange: true) { (queue) throws(FirestoreError) in try queue.discard(id) }
  }
}

// MARK: - The cache

extension FirestoreEngine {
  /// Protects what a query gives from eviction and keeps it up to date; or ends that.
  package func keepSynced(_ isKept: Bool, _ query: DocumentQuery) {
    run { $0.kept.set(isKept, query) }
  }

  /// Declares exactly these indexes.
  package func setIndexes(
    _ indexes: [DocumentIndex], _ told: @escaping @Sendable (FirestoreError?) -> Void
  ) {
    let told = untilEnd(told)
    run { loop in
      let failure = loop.declare(indexes)
      loop.outbox.addCall { told(failure) }
    }
  }

  /// Whether an index is declared when a query shows that one would help.
  package func setCreatesIndexes(_ creates: Bool) {
    run { $0.listening.setCreatesIndexes(creates) }
  }

  /// Takes in the bytes of a bundle, and tells how far that has come.
  package func loadBundle(
    _ bytes: [UInt8], _ told: @escaping @Sendable (Result<BundleProgress, FirestoreError>) -> Void
  ) {
    let told = untilEnd(told)
    run { $0.bundles.load(bytes, told) }
  }

  /// The query that a bundle brought under a name; nil for an unknown name.
  package func namedQuery(
    _ name: String, _ told: @escaping @Sendable (Result<DocumentQuery?, FirestoreError>) -> Void
  ) {
    let told = untilEnd(told)
    run { loop in
      let result = Result { () throws(FirestoreError) in try loop.bundles.namedQuery(name) }
      loop.outbox.addCall { told(result) }
    }
  }
}

extension DocumentLoop {
  /// Declares exactly these indexes; gives why not.
  fileprivate func declare(_ indexes: [DocumentIndex]) -> FirestoreError? {
    guard store.lane != nil else { return store.error }
    do throws(StoreError) {
      try store.commit([.documents(store.tree, [.setIndexes(indexes)])])
      return nil
    } catch {
      return FirestoreError(error, "The indexes were not declared")
    }
  }
}
