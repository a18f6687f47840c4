import ConiferSync
import ConiferTree
import TestSupport
import Testing

@testable import Conifer

@Suite struct `Transactions through the API` {
  let bench = ClientBench()

  @Test func `the function is given the data and may run again on other data`() async throws {
    try bench.engine.set { $0.inputs = [.empty, 5] }
    let told = Gathered<String>()
    bench.root.child("count").runTransactionBlock({ data in
      data.value = (data.value as? Int ?? 0) + 1
      return TransactionResult.success(withValue: data)
    }) { error, committed, snapshot in
      told.add("\(error == nil) \(committed) \(snapshot?.value as? Int ?? -1)")
    }
    await bench.waitUntilIdle()
    #expect(told.all == ["true true 6"])
    let nodes = try bench.engine.recorded.steps.compactMap { step in
      if case .write(let node) = step { return node }
      return nil
    }
    #expect(nodes == [1, 6])
  }

  @Test func `giving up is no error`() async throws {
    try bench.engine.set { $0.inputs = [3] }
    let told = Gathered<String>()
    bench.root.child("count").runTransactionBlock(
      { _ in TransactionResult.abort() },
      andCompletionBlock: { error, committed, snapshot in
        told.add("\(error == nil) \(committed) \(snapshot?.value as? Int ?? -1)")
      }, withLocalEvents: false)
    await bench.waitUntilIdle()
    #expect(told.all == ["true false 3"])
    #expect(try bench.engine.recorded.calls == ["transact /count false"])
  }

  @Test func `a completion block is not needed`() async throws {
    func count() { bench.root.child("count").runTransactionBlock { .success(withValue: $0) } }
    count()
    await bench.waitUntilIdle()
    #expect(try bench.engine.recorded.calls == ["transact /count true"])
  }

  @Test func `a mistake of an earlier run is forgotten when the last one is right`() async throws {
    try bench.engine.set { $0.inputs = [1] }
    let told = Gathered<DatabaseError?>()
    bench.root.child("a").runTransactionBlock({ data in
      data.value = 2
      return .success(withValue: data)
    }) { error, _, _ in told.add(error as? DatabaseError) }
    await bench.waitUntilIdle()
    #expect(told.all == [nil])
  }

  @Test func `the async form returns what was committed, or throws`() async throws {
    let ref = bench.root.child("count")
    let (committed, snapshot) = try await ref.runTransactionBlock { data in
      data.value = 7
      return .success(withValue: data)
    }
    #expect(committed)
    #expect(snapshot.value as? Int == 7)
    try bench.engine.set { $0.error = DatabaseError(.tooManyRetries, "Changed 25 times.") }
    let error = await failure { _ = try await ref.runTransactionBlock { .success(withValue: $0) } }
    #expect(error?.code == .tooManyRetries)
  }
}
