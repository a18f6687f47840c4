import ConiferTree
import Foundation
import TestSupport
import Testing

@testable import Conifer

/// Every mistake is told where the call tells: completion block, receipt, cancel block, or thrown.
@Suite struct `Mistakes in arguments` {
  let bench = ClientBench()

  struct Mistake: Sendable, CustomTestStringConvertible {
    let name: String
    let code: DatabaseError.Code
    let make:
      @Sendable (DatabaseReference, @escaping DatabaseReference.CompletionBlock) -> WriteReceipt

    init(
      _ name: String, _ code: DatabaseError.Code,
      _ make:
        @escaping @Sendable (DatabaseReference, @escaping DatabaseReference.CompletionBlock) ->
        WriteReceipt
    ) {
      self.name = name
      self.code = code
      self.make = make
    }

    var testDescription: String { name }
  }

  static let mistakes: [Mistake] = [
    Mistake("a bad path", .invalidPath) {
      $0.child("a.b").setValue(1, withCompletionBlock: $1)
    },
    Mistake("a bad key in a value", .invalidPath) {
      $0.child("a").setValue(["b#": 1], withCompletionBlock: $1)
    },
    Mistake("no JSON", .invalidValue) {
      $0.child("a").setValue(Date(), withCompletionBlock: $1)
    },
    Mistake("not a number", .invalidValue) {
      $0.child("a").setValue(Double.nan, withCompletionBlock: $1)
    },
    Mistake("a malformed server value", .invalidValue) {
      $0.child("a").setValue([".sv": 1], withCompletionBlock: $1)
    },
    Mistake("a boolean priority", .invalidPriority) {
      $0.child("a").setValue(1, andPriority: true, withCompletionBlock: $1)
    },
    Mistake("a priority that is a dictionary", .invalidPriority) {
      $0.child("a").setPriority(["a": 1], withCompletionBlock: $1)
    },
    Mistake("a set of .info", .readOnly) {
      $0.child(".info/connected").setValue(true, withCompletionBlock: $1)
    },
    Mistake("a removal of .info", .readOnly) {
      $0.child(".info").removeValue(completionBlock: $1)
    },
    Mistake("a priority of .info", .readOnly) {
      $0.child(".info/connected").setPriority(1, withCompletionBlock: $1)
    },
    Mistake("an update of .info", .readOnly) {
      $0.child(".info").updateChildValues(["a": 1], withCompletionBlock: $1)
    },
    Mistake("an update that reaches .info", .readOnly) {
      $0.updateChildValues([".info/connected": true], withCompletionBlock: $1)
    },
    Mistake("an update of a place and one below", .invalidUpdate) {
      $0.updateChildValues(["a": 1, "a/b": 2], withCompletionBlock: $1)
    },
    Mistake("an update of one place twice", .invalidUpdate) {
      $0.updateChildValues(["/a": 1, "a/": 2], withCompletionBlock: $1)
    },
    Mistake("an update of no place", .invalidUpdate) {
      $0.child("a").updateChildValues(["/": 1], withCompletionBlock: $1)
    },
    Mistake("an update whose key is no text", .invalidUpdate) {
      $0.updateChildValues([1: 1], withCompletionBlock: $1)
    },
    Mistake("an update with a bad path", .invalidPath) {
      $0.updateChildValues(["a/$b": 1], withCompletionBlock: $1)
    },
    Mistake("an update with a bad value", .invalidValue) {
      $0.updateChildValues(["a": Data()], withCompletionBlock: $1)
    },
    Mistake("an update with a bad priority", .invalidPriority) {
      $0.updateChildValues(["a/.priority": ["x": 1]], withCompletionBlock: $1)
    },
    Mistake("a path too deep by its value", .invalidPath) {
      let deep = Array(repeating: "k", count: 32).joined(separator: "/")
      return $0.child(deep).setValue(["k": 1], withCompletionBlock: $1)
    },
    Mistake("a place of another database", .invalidURL) {
      $0.database.reference(fromURL: "https://elsewhere.example.com/a")
        .setValue(1, withCompletionBlock: $1)
    },
  ]

  @Test(arguments: mistakes)
  func `a write tells its completion block and its receipt`(mistake: Mistake) async throws {
    let told = Gathered<DatabaseError?>()
    let receipt = mistake.make(bench.root) { error, _ in told.add(error as? DatabaseError) }
    await bench.waitUntilIdle()
    #expect(told.all.map { $0?.code } == [mistake.code])
    guard case .failed(let error) = try await receipt.outcome else {
      Issue.record("The receipt does not tell the failure.")
      return
    }
    #expect(error.code == mistake.code)
    #expect(await failure { _ = try await receipt.id }?.code == mistake.code)
    #expect(await failure { _ = try await receipt.durable }?.code == mistake.code)
    #expect(await failure { try await receipt.acknowledged() }?.code == mistake.code)
    #expect(try bench.engine.recorded.writes.isEmpty)
    #expect(!error.localizedDescription.isEmpty)
  }

  @Test func `the async forms throw`() async {
    let wrong = bench.root.child("a.b")
    #expect(await failure { try await wrong.setValue(1) }?.code == .invalidPath)
    #expect(await failure { try await wrong.updateChildValues(["x": 1]) }?.code == .invalidPath)
    #expect(await failure { try await wrong.removeValue() }?.code == .invalidPath)
    #expect(await failure { try await wrong.setPriority(1) }?.code == .invalidPath)
    #expect(await failure { _ = try await wrong.getData() }?.code == .invalidPath)
    #expect(await failure { try await wrong.onDisconnectSetValue(1) }?.code == .invalidPath)
    #expect(
      await failure { try await wrong.onDisconnectUpdateChildValues(["a": 1]) }?.code
        == .invalidPath)
    #expect(await failure { try await wrong.onDisconnectRemoveValue() }?.code == .invalidPath)
    #expect(await failure { try await wrong.cancelDisconnectOperations() }?.code == .invalidPath)
    let result = await failure {
      _ = try await wrong.runTransactionBlock { .success(withValue: $0) }
    }
    #expect(result?.code == .invalidPath)
  }

  @Test func `an observer's cancel block is told, and no listen begins`() async throws {
    let told = Gathered<String>()
    let wrong: [DatabaseQuery] = [
      bench.root.child("a.b"), bench.root.queryOrderedByKey().queryOrderedByValue(),
    ]
    for query in wrong {
      query.observe(.value, with: { _ in told.add("event") }, withCancel: { told.add(code($0)) })
      query.observe(
        .childAdded, andPreviousSiblingKeyWith: { _, _ in told.add("event") },
        withCancel: { told.add(code($0)) })
      query.observeSingleEvent(of: .value, with: { _ in told.add("event") }) { told.add(code($0)) }
      query.observe(.value) { _ in told.add("event") }
      query.keepSynced(true)
      query.removeAllObservers()
    }
    await bench.waitUntilIdle()
    let (path, query) = ("invalid-path", "invalid-query")
    #expect(told.all == [path, path, path, query, query, query])
    #expect(try bench.engine.recorded.listeners.isEmpty)
    #expect(try bench.engine.recorded.pins.isEmpty)
  }

  @Test func `a read's completion block is told, with an empty snapshot`() async throws {
    let told = Gathered<String>()
    bench.root.child("a.b").getData { error, snapshot in
      told.add("\(error.map(code) ?? "") \(snapshot.exists())")
    }
    await bench.waitUntilIdle()
    #expect(told.all == ["invalid-path false"])
    #expect(try bench.engine.recorded.gets.isEmpty)
  }

  @Test func `operations for the end of a connection tell their blocks`() async throws {
    let told = Gathered<String>()
    let tell: DatabaseReference.CompletionBlock = { error, _ in told.add(error.map(code) ?? "") }
    bench.root.child("a.b").onDisconnectSetValue(1, withCompletionBlock: tell)
    bench.root.child("a").onDisconnectSetValue(Date(), withCompletionBlock: tell)
    bench.root.child("a").onDisconnectSetValue(1, andPriority: true, withCompletionBlock: tell)
    bench.root.child(".info/a").onDisconnectRemoveValue(completionBlock: tell)
    bench.root.onDisconnectUpdateChildValues(["a": 1, "a/b": 1], withCompletionBlock: tell)
    bench.root.child(".info").cancelDisconnectOperations(completionBlock: tell)
    bench.root.onDisconnectUpdateChildValues([:], withCompletionBlock: tell)
    await bench.waitUntilIdle()
    #expect(
      told.all == [
        "invalid-path", "invalid-value", "invalid-priority", "read-only", "invalid-update",
        "read-only", "",
      ])
    #expect(try bench.engine.recorded.disconnects.isEmpty)
  }

  @Test func `transactions tell their completion blocks`() async throws {
    let told = Gathered<String>()
    func run(_ ref: DatabaseReference, _ change: @escaping (MutableData) -> TransactionResult) {
      ref.runTransactionBlock(change) { error, committed, snapshot in
        told.add("\(error.map(code) ?? "") \(committed) \(snapshot == nil)")
      }
    }
    run(bench.root.child("a.b")) { .success(withValue: $0) }
    run(bench.root.child(".info/connected")) { .success(withValue: $0) }
    run(bench.root.child("a")) { data in
      data.value = Date()
      return .success(withValue: data)
    }
    run(bench.root.child("a")) { data in
      data.value = ["x.y": 1]
      return .success(withValue: data)
    }
    await bench.waitUntilIdle()
    await bench.waitUntilIdle()
    #expect(
      told.all == [
        "invalid-path false true", "read-only false true", "invalid-value false true",
        "invalid-path false true",
      ])
  }

  @Test func `the client's own places cannot be kept synced`() throws {
    bench.root.child(".info/connected").keepSynced(true)
    #expect(try bench.engine.recorded.pins.isEmpty)
  }
}

private func code(_ error: any Error) -> String {
  (error as? DatabaseError)?.code.rawValue ?? "\(error)"
}
