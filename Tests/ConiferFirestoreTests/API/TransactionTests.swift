import ConiferDocument
import ConiferEngine
import Foundation
import Testing

@testable import ConiferFirestore

@Suite("Transactions")
struct TransactionTests {
  let world = Recorded { $0.clock = ImmediateClock() }
  var document: DocumentReference { world.firestore.document("rooms/eros") }
  private let path = DocumentPath(collection: "rooms", id: "eros")

  private func found(_ n: Int64, version: Int64) throws -> Document {
    Document(
      try DocumentPath("rooms/eros"), .found(["n": .integer(n)]),
      version: try .init(microseconds: version))
  }

  private func missing() throws -> Document { Document(try DocumentPath("rooms/eros"), .missing) }

  private var commits: [[Mutation]] { world.engine.answer { $0.commits } }

  @Test(
    "A transaction with more than a request may have is refused, and not run again",
    arguments: [(12, 900_000), (DocumentLimits.writes + 1, 1)])
  func tooLarge(writes: Int, length: Int) async throws {
    let firestore = world.firestore
    let text = String(repeating: "x", count: length)
    var runs = 0
    let error = await #expect(throws: FirestoreError.self) {
      try await firestore.runTransaction { transaction in
        runs += 1
        for n in 0..<writes {
          transaction.setData(["t": text], forDocument: firestore.document("rooms/r\(n)"))
        }
      }
    }
    #expect(error?.code == .invalidArgument && error?.cause == "request-too-large")
    #expect(runs == 1 && commits.isEmpty)
  }

  @Test("What was read must not have changed when the writes are made")
  func preconditions() async throws {
    let (eros, zeus, ares) = (
      try DocumentPath("rooms/eros"), try DocumentPath("rooms/zeus"), try DocumentPath("rooms/ares")
    )
    let version = try ConiferDocument.Timestamp(microseconds: 7)
    let documents = [
      try found(1, version: 7), Document(zeus, .missing),
      Document(ares, .found([:]), version: version),
    ]
    world.engine.answer { $0.documents = [documents] }
    let firestore = world.firestore
    let size = try await firestore.runTransaction { transaction in
      let eros = try await transaction.getDocument(firestore.document("rooms/eros"))
      let zeus = try await transaction.getDocument(firestore.document("rooms/zeus"))
      _ = try await transaction.getDocument(firestore.document("rooms/ares"))
      #expect(!zeus.exists && !zeus.metadata.isFromCache)
      transaction.updateData(["n": 2], forDocument: eros.reference)
        .setData(["n": 3], forDocument: zeus.reference)
        .deleteDocument(eros.reference)
        .setData(["n": 4], forDocument: firestore.document("rooms/new"), merge: true)
      return eros.get("n") as? Int
    }
    #expect(size == 1)
    let database = world.database
    let n = try ConiferDocument.FieldPath(dotted: "n")
    let set = try Mutation.set(zeus, [("n", 3)], in: database)
    #expect(
      commits == [
        [
          try .update(eros, [(n, .value(2))], in: database, if: .updateTime(version)),
          Mutation(zeus, set.change, if: .exists(false)),
          try .delete(eros),
          try .merge(DocumentPath("rooms/new"), [("n", 4)], in: database),
          try .verify(ares, if: .updateTime(version)),
        ]
      ])
  }

  @Test("A transaction that collides is run again, five times unless the app says otherwise")
  func retries() async throws {
    let documents = [try found(1, version: 7)]
    for (options, runs) in [(nil, 5), (2, 2)] as [(Int?, Int)] {
      world.engine.answer {
        $0.documents = [documents]
        $0.commits = []
        $0.refusals = Array(repeating: FirestoreError(.aborted, "Another wrote."), count: 9)
      }
      let firestore = world.firestore
      var count = 0
      let settings = TransactionOptions()
      if let options { settings.maxAttempts = options }
      do {
        try await firestore.runTransaction(options: settings) { transaction in
          count += 1
          let read = try await transaction.getDocument(firestore.document("rooms/eros"))
          transaction.updateData(["n": count], forDocument: read.reference)
        }
        Issue.record("The transaction succeeded.")
      } catch { #expect((error as? FirestoreError)?.code == .aborted) }
      #expect(count == runs && commits.count == runs)
    }
  }

  @Test(
    "What may pass is tried again, what will not is not",
    arguments: [
      (.aborted, true), (.failedPrecondition, true), (.alreadyExists, true), (.unavailable, true),
      (.unknown, true), (.internal, true), (.deadlineExceeded, true), (.resourceExhausted, true),
      (.unauthenticated, true), (.cancelled, true), (.permissionDenied, false),
      (.notFound, false), (.invalidArgument, false), (.outOfRange, false), (.unimplemented, false),
      (.dataLoss, false),
    ] as [(FirestoreErrorCode.Code, Bool)])
  func codes(code: FirestoreErrorCode.Code, isRetried: Bool) async throws {
    world.engine.answer { $0.refusals = [FirestoreError(code, "No.")] }
    let firestore = world.firestore
    _ = try? await firestore.runTransaction { transaction in
      transaction.setData(["n": 1], forDocument: firestore.document("rooms/eros"))
    }
    #expect(commits.count == (isRetried ? 2 : 1))
  }

  @Test("Faults of the function are told, and are not tried again")
  func faults() async throws {
    struct Own: Error {}
    let firestore = world.firestore
    let document = document
    func run(
      _ body: (Transaction) async throws -> Void
    ) async -> (runs: Int, error: (any Error)?) {
      var runs = 0
      do {
        try await firestore.runTransaction { transaction in
          runs += 1
          try await body(transaction)
        }
        return (runs, nil)
      } catch { return (runs, error) }
    }
    let own = await run { _ in throw Own() }
    #expect(own.runs == 1 && own.error is Own)
    let late = await run { transaction in
      transaction.setData(["n": 1], forDocument: document)
      _ = try await transaction.getDocument(document)
    }
    #expect(late.runs == 1 && (late.error as? FirestoreError)?.code == .invalidArgument)
    let missing = await run { transaction in
      _ = try await transaction.getDocument(document)
      transaction.updateData(["n": 1], forDocument: document)
    }
    #expect(missing.runs == 1 && (missing.error as? FirestoreError)?.code == .invalidArgument)
    let data = await run { $0.setData(["n": FieldValue.delete()], forDocument: document) }
    #expect(data.runs == 1 && (data.error as? FirestoreError)?.code == .invalidArgument)
    let foreign = await run {
      $0.setData(["n": 1], forDocument: Recorded().firestore.document("a/b"))
    }
    #expect((foreign.error as? FirestoreError)?.code == .invalidArgument)
    let options = TransactionOptions()
    options.maxAttempts = 0
    await #expect(throws: FirestoreError.self) {
      try await firestore.runTransaction(options: options) { _ in }
    }
    #expect(commits.isEmpty)
  }

  @Test("A document that changes between two reads has the transaction run again")
  func changedBetweenReads() async throws {
    let documents = [
      [try found(1, version: 7)], [try found(2, version: 8)], [try missing()], [try missing()],
    ]
    world.engine.answer { $0.documents = documents }
    let (firestore, document) = (world.firestore, document)
    var runs = 0
    try await firestore.runTransaction { transaction in
      runs += 1
      _ = try await transaction.getDocument(document)
      _ = try await transaction.getDocument(document)
      transaction.setData(["n": 1], forDocument: document)
    }
    #expect(runs == 2)
    #expect(commits.map { $0.map(\.precondition) } == [[.exists(false)]])
  }

  @Test("After its end a transaction takes nothing: writes are logged, reads throw")
  func afterTheEnd() async throws {
    struct Own: Error {}
    let (firestore, document) = (world.firestore, document)
    var kept: [Transaction] = []
    try await firestore.runTransaction { transaction in
      kept.append(transaction)
      transaction.setData(["n": 1], forDocument: document)
    }
    _ = try? await firestore.runTransaction { transaction in
      kept.append(transaction)
      throw Own()
    }
    #expect(kept.count == 2 && world.errors.all.isEmpty)
    for (number, transaction) in kept.enumerated() {
      transaction.setData(["n": 2], forDocument: document)
      #expect(world.errors.all.count == number + 1)
      do throws(FirestoreError) {
        _ = try await transaction.getDocument(document)
        Issue.record("It was read after the end.")
      } catch { #expect(error.code == .failedPrecondition) }
    }
    #expect(commits.map(\.count) == [1])
  }

  @Test(
    "A read that is invalid fails the transaction, even if the function passes over the error")
  func passedOver() async throws {
    let documents = [try found(1, version: 7)]
    world.engine.answer { $0.documents = [documents] }
    let (firestore, document) = (world.firestore, document)
    let foreign = Recorded().firestore.document("a/b")
    for isForeign in [false, true] {
      var runs = 0
      do {
        try await firestore.runTransaction { transaction in
          runs += 1
          if isForeign { _ = try? await transaction.getDocument(foreign) }
          transaction.setData(["n": 1], forDocument: document)
          if !isForeign { _ = try? await transaction.getDocument(document) }
        }
        Issue.record("It was committed.")
      } catch { #expect((error as? FirestoreError)?.code == .invalidArgument) }
      #expect(runs == 1)
    }
    #expect(commits.isEmpty)
  }

  @Test(
    "A document that changed between two reads counts, even if the function passes over the error")
  func passedOverChange() async throws {
    let documents = [
      [try found(1, version: 7)], [try found(2, version: 8)], [try found(2, version: 8)],
    ]
    world.engine.answer { $0.documents = documents }
    let (firestore, document) = (world.firestore, document)
    var runs = 0
    try await firestore.runTransaction { transaction in
      runs += 1
      for _ in 0..<2 { _ = try? await transaction.getDocument(document) }
      transaction.setData(["n": 1], forDocument: firestore.document("rooms/zeus"))
    }
    #expect(runs == 2)
    let version = try ConiferDocument.Timestamp(microseconds: 8)
    #expect(commits.map { $0.map(\.precondition) } == [[.none, .updateTime(version)]])
  }

  @Test(
    "The app's own errors end a transaction, whatever their code",
    arguments: [.aborted, .alreadyExists, .failedPrecondition, .unknown, .unavailable]
      as [FirestoreErrorCode.Code])
  func ownErrors(code: FirestoreErrorCode.Code) async throws {
    let runs = Ends()
    let own = FirestoreError(code, "Sold out.")
    await #expect(throws: FirestoreError.self) {
      try await world.firestore.runTransaction { _ in
        runs.add(nil)
        throw own
      }
    }
    #expect(runs.all.count == 1)
    await #expect(throws: FirestoreError.self) {
      try await world.firestore.runTransaction { (_, errorPointer) -> Any? in
        runs.add(nil)
        errorPointer?.pointee = own as NSError
        return nil
      }
    }
    #expect(runs.all.count == 2)
  }

  @Test("The block of the Apple SDK reads without await, and gives up by its pointer")
  func block() async throws {
    let documents = [try found(1, version: 7)]
    world.engine.answer { $0.documents = [documents] }
    let document = document
    let value = try await world.firestore.runTransaction { (transaction, errorPointer) -> Any? in
      do {
        let read = try transaction.getDocument(document)
        let n = (read.get("n") as? Int ?? 0) + 1
        transaction.updateData(["n": n], forDocument: document)
        return n
      } catch {
        errorPointer?.pointee = error as NSError
        return nil
      }
    }
    #expect(value as? Int == 2)
    #expect(commits.count == 1)
    let ended = await withCheckedContinuation { continuation in
      world.firestore.runTransaction(
        { (_, errorPointer) in
          errorPointer?.pointee = NSError(domain: "app", code: 7)
          return nil
        },
        completion: { value, error in
          continuation.resume(returning: (value == nil, (error as NSError?)?.code))
        })
    }
    #expect(ended.0 && ended.1 == 7)
    #expect(commits.count == 1)
  }

  @Test("An error of a read that the block passes on is tried again")
  func blockRetries() async throws {
    let documents = [
      [try found(1, version: 7)], [try found(2, version: 8)], [try found(2, version: 8)],
    ]
    world.engine.answer { $0.documents = documents }
    let document = document
    let runs = Ends()
    let value = try await world.firestore.runTransaction { (transaction, errorPointer) -> Any? in
      runs.add(nil)
      do {
        _ = try transaction.getDocument(document)
        return try transaction.getDocument(document).get("n")
      } catch let error as NSError {
        errorPointer?.pointee = error
        return nil
      }
    }
    #expect(value as? Int == 2)
    #expect(runs.all.count == 2)
  }
}

/// Time that jumps to whatever is waited for.
struct ImmediateClock: EngineClock {
  var wallTime: Int64 { 1_700_000_000_000 }
  var now: Int64 { 1_000 }
  func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) { body() }
}
