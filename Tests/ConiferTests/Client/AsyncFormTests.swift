import Conifer
import ConiferQuery
import ConiferServer
import ConiferTree
import ConiferWire
import TestSupport
import Testing

/// The calls of the Apple SDK's names with `await`: each waits for the server, and throws what it
/// answers.
@Suite struct `Calls that are awaited` {
  /// One of the calls, made at a place that holds `{"a": 1}`.
  struct Form: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// What the server has there when the call returns.
    let result: Node
    let call: @Sendable (DatabaseReference) async throws -> DatabaseReference?

    init(
      _ name: String, _ result: Node,
      _ call: @escaping @Sendable (DatabaseReference) async throws -> DatabaseReference?
    ) {
      (testDescription, self.result, self.call) = (name, result, call)
    }
  }

  struct Name: Codable, Sendable { var name: String }

  static let writes = [
    Form("setValue", 2) { try await $0.setValue(2) },
    Form("setValue with a priority", Node(2, priority: 3)) {
      try await $0.setValue(2, andPriority: 3)
    },
    Form("setValue from a value", ["name": "Attic"]) {
      try await $0.setValue(from: Name(name: "Attic"))
    },
    Form("updateChildValues", ["a": 1, "b": 2]) { try await $0.updateChildValues(["b": 2]) },
    Form("removeValue", .empty) { try await $0.removeValue() },
    Form("setPriority", (["a": 1] as Node).setting(Key.priority, to: 5)) {
      try await $0.setPriority(5)
    },
    Form("runTransactionBlock", ["a": 1, "c": 3]) {
      try await $0.runTransactionBlock { data in
        data.childData(byAppendingPath: "c").value = 3
        return .success(withValue: data)
      }.snapshot.ref
    },
  ]

  static let arrangements = [
    Form("onDisconnectSetValue", 2) { try await $0.onDisconnectSetValue(2) },
    Form("onDisconnectSetValue with a priority", Node(2, priority: 3)) {
      try await $0.onDisconnectSetValue(2, andPriority: 3)
    },
    Form("onDisconnectUpdateChildValues", ["a": 1, "b": 2]) {
      try await $0.onDisconnectUpdateChildValues(["b": 2])
    },
    Form("onDisconnectRemoveValue", .empty) { try await $0.onDisconnectRemoveValue() },
    Form("cancelDisconnectOperations", ["a": 1]) { try await $0.cancelDisconnectOperations() },
  ]

  let server: Server
  let transport: InProcessTransport
  let database: Database

  init() {
    let rules = ClosureRules(
      read: { target, _ in target.path.first != "secret" },
      write: { path, _, _ in path.first != "locked" })
    server = Server(ServerConfiguration(rules: rules))
    server.set("open", ["x": ["a": 1]], in: "app")
    transport = server.transport()
    var configuration = DatabaseConfiguration(namespace: "app", transport: transport)
    // Time stands still: however long an answer is held back, the connection is not taken for dead.
    configuration.clock = TestClock()
    database = Database(configuration)
  }

  var data: Node { server.data("open/x", in: "app") }

  /// Makes a call whose answer is held back, and lets it go when the server has the request.
  func callHeld(_ form: Form) async throws {
    let place = database.reference(withPath: "open/x")
    // Known here, so that a transaction's first run is the one that is sent.
    place.observe(.value) { _ in }
    _ = try await place.getData()
    let told = Gathered<String>()
    transport.intercept { request in
      switch request {
      case .put, .merge, .onDisconnectPut, .onDisconnectMerge, .onDisconnectCancel:
        told.add("the server has it")
      default: break
      }
      return nil
    }
    transport.hold(.toClient)
    let call = Task {
      let returned = try await form.call(place)
      told.add("the call returns")
      return returned
    }
    while told.all.isEmpty { await Task.yield() }
    // What would not wait has returned by now.
    for _ in 0..<100 { await Task.yield() }
    #expect(told.all == ["the server has it"])
    transport.release()
    #expect(try await call.value == place)
    #expect(told.all == ["the server has it", "the call returns"])
  }

  @Test(arguments: writes) func `a write returns when the server has it`(form: Form) async throws {
    try await callHeld(form)
    #expect(data == form.result)
    await database.close()
  }

  @Test(arguments: arrangements)
  func `an operation for the connection's end returns when the server has noted it`(
    form: Form
  ) async throws {
    try await callHeld(form)
    #expect(data == ["a": 1])
    transport.disconnect()
    while data != form.result, !Task.isCancelled { await Task.yield() }
    #expect(data == form.result)
    await database.close()
  }

  @Test(arguments: writes + arrangements.dropLast())
  func `what the rules refuse is thrown`(form: Form) async throws {
    server.set("locked", ["x": ["a": 1]], in: "app")
    let place = database.reference(withPath: "locked/x")
    let error = await failure { _ = try await form.call(place) }
    #expect(error?.code == .permissionDenied)
    #expect(server.data("locked/x", in: "app") == ["a": 1])
    await database.close()
  }

  @Test func `an operation that cannot be cancelled is thrown`() async throws {
    let place = database.reference(withPath: "open/x")
    try await place.onDisconnectRemoveValue()
    transport.intercept { request in
      guard case .onDisconnectCancel = request else { return nil }
      return Response(.permissionDenied)
    }
    let error = await failure { try await place.cancelDisconnectOperations() }
    #expect(error?.code == .permissionDenied)
    await database.close()
  }

  @Test(arguments: writes + arrangements)
  func `a task that is cancelled stops waiting, and the write goes on`(form: Form) async throws {
    let place = database.reference(withPath: "open/x")
    _ = try await place.getData()
    transport.hold(.toServer)
    let call = Task { try await form.call(place) }
    call.cancel()
    let error = await failure { _ = try await call.value }
    #expect(error?.code == .cancelled)
    transport.release()
    if Self.writes.contains(where: { $0.testDescription == form.testDescription }) {
      while data != form.result, !Task.isCancelled { await Task.yield() }
      #expect(data == form.result)
    }
    await database.close()
  }

  @Test func `a transaction that gives up returns so, with what is there`() async throws {
    let place = database.reference(withPath: "open/x")
    let (committed, snapshot) = try await place.runTransactionBlock { data in
      data.value == nil ? .success(withValue: data) : .abort()
    }
    #expect(!committed)
    #expect(snapshot.node == ["a": 1])
    await database.close()
  }

  @Test func `observers need not see what a transaction tries`() async throws {
    let place = database.reference(withPath: "open/x/a")
    let told = Gathered<Int>()
    place.observe(.value) { told.add($0.value as? Int ?? 0) }
    _ = try await place.getData()
    transport.hold(.toServer)
    async let done = place.runTransactionBlock(
      { data in
        data.value = 7
        return .success(withValue: data)
      }, withLocalEvents: false)
    _ = try await database.pendingWriteTotals()
    transport.release()
    #expect(try await done.committed)
    await database.close()
    #expect(told.all.filter { $0 == 7 }.count == 1)
  }

  @Test func `the first event is awaited, or the refusal is thrown`() async throws {
    let place = database.reference(withPath: "open")
    server.set("open/y", 2, in: "app")
    let value = try await place.observeSingleEvent(of: .value)
    #expect(value.node == ["x": ["a": 1], "y": 2])
    let (child, before) = try await place.queryOrderedByKey().queryLimited(toLast: 1)
      .observeSingleEventAndPreviousSiblingKey(of: .childAdded)
    #expect(child.key == "y")
    #expect(before == nil)
    let secret = database.reference(withPath: "secret")
    let refused = await failure { _ = try await secret.observeSingleEvent(of: .value) }
    #expect(refused?.code == .permissionDenied)
    let wrong = place.queryOrderedByKey().queryOrderedByValue()
    let senseless = await failure { _ = try await wrong.observeSingleEvent(of: .value) }
    #expect(senseless?.code == .invalidQuery)
    await database.close()
  }

  @Test func `waiting for an event ends with its task, and with the observers`() async throws {
    transport.isReachable = false
    let place = database.reference(withPath: "open")
    let first = Task { try await place.observeSingleEvent(of: .value) }
    first.cancel()
    #expect(await failure { _ = try await first.value }?.code == .cancelled)
    let ended = Gathered<DatabaseError?>()
    let second = Task {
      ended.add(await failure { _ = try await place.observeSingleEvent(of: .value) })
    }
    while ended.all.isEmpty {
      place.removeAllObservers()
      await Task.yield()
    }
    await second.value
    #expect(ended.all.map { $0?.code } == [.cancelled])
    await database.close()
  }

  @Test func `a receipt is had in async code, and nothing waits for it`() async throws {
    let place = database.reference(withPath: "open/x")
    database.goOffline()
    let receipts = [
      place.enqueue(.set(1)), place.enqueue(.set(2, priority: 3)),
      place.enqueue(.set(from: Name(name: "Attic"))), place.enqueue(.update(["b": 2])),
      place.enqueue(.priority("p")), place.child("name").enqueue(.remove),
    ]
    for receipt in receipts { _ = try await receipt.durable }
    #expect(data == ["a": 1])
    database.goOnline()
    for receipt in receipts { try await receipt.acknowledged() }
    #expect(data == (["b": 2] as Node).setting(Key.priority, to: "p"))
    await database.close()
  }
}
