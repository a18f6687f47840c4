import Conifer
import ConiferServer
import ConiferTree

/// The client demo's steps, and the table that it ends with.
struct ClientDemo {
  let facts: Node
  let writes: Int
  let stores: DemoStores
  let json: Bool
  let console: Console

  /// Runs every step.
  ///
  /// - Throws: `Failure` with the status `disproved` when a write is missing or counted twice, or
  ///   client and server do not agree.
  func run() async throws {
    try say("client: \(stores.client)")
    try say("server: \(stores.server)")
    try say("1. the server gets its facts")
    try await stores.withServer { server in
      server.set(.root, .empty, in: DemoStores.namespace)
      server.set("/facts", facts, in: DemoStores.namespace)
    }
    try say("2. a client in another process listens, goes offline, writes, and is killed")
    let durable = try killWriter()
    var figures = [
      DemoFigure("writes on the medium before the kill", durable),
    ]
    figures += try await stores.withServer { server in try await goOn(server, durable) }
    try DemoFigure.show(figures, store: stores.client, json, console)
  }

  /// Lets the client write until enough is on the medium, kills it, and returns how many it reported.
  private func killWriter() throws -> Int {
    let child = try ChildProcess(["demo-client", "--store", stores.client])
    var durable = 0
    while durable < writes, let line = try child.line() {
      if let number = Int(line) { durable = number } else { try say("   it saw \(line)") }
    }
    child.kill()
    // What it reported before it died counts as well.
    while let line = try child.line() { durable = Int(line) ?? durable }
    let end = try child.wait()
    guard end == .killed(signal: ChildProcess.killSignal) else {
      throw Failure("demo-client", .internal, "The client's process was not killed: \(end).")
    }
    return durable
  }

  /// Opens the client again offline, then lets it reach the server.
  private func goOn(_ server: Server, _ durable: Int) async throws -> [DemoFigure] {
    try say("3. the client is opened again, without a network")
    let transport = server.transport()
    transport.isReachable = false
    let start = ContinuousClock.now
    let database = try stores.openClient(transport)
    let root = database.reference()
    let cached = try await first(root.child("facts"))
    let opened = start.duration(to: .now)
    try require(cached.node == facts, "The facts that were listened to are not in the cache.")
    let waiting = try await database.pendingWriteTotals().pending
    try require(waiting >= durable, "\(durable) writes were on the medium, and \(waiting) wait.")
    let seen = try await children(root.child("writes"), waiting)
    try say("   it shows \(seen) writes that the server has not seen")

    try say("4. the network is back: the queue drains")
    let drain = ContinuousClock.now
    transport.isReachable = true
    database.goOnline()
    while try await database.pendingWriteTotals().pending > 0 {
      try await Task.sleep(for: .milliseconds(2))
    }
    let drained = drain.duration(to: .now)
    let stored = server.data("/writes", in: DemoStores.namespace).childCount
    let counted = server.data("/count", in: DemoStores.namespace)
    try require(stored == waiting, "The server has \(stored) of \(waiting) writes.")
    try require(
      counted == Node(.integer(Int64(waiting))), "The server counted \(counted), not \(waiting).")
    let local = try await first(root)
    try require(
      local.node == server.data(in: DemoStores.namespace), "Client and server do not agree.")
    await database.close()
    return [
      DemoFigure("time to open and show cached data", opened),
      DemoFigure("writes in the queue after the kill", waiting),
      DemoFigure("time to drain the queue", drained),
      DemoFigure("writes that the server counted once", stored),
      DemoFigure("writes missing or counted twice", 0),
    ]
  }

  private func first(_ reference: DatabaseReference) async throws -> DataSnapshot {
    for try await snapshot in reference.snapshots { return snapshot }
    throw Failure("closed", .internal, "The client ended before it gave a value.")
  }

  /// How many children a listener is told of at once, at least as many as wait.
  private func children(_ reference: DatabaseReference, _ waiting: Int) async throws -> Int {
    var seen = 0
    for try await batch in reference.childEventBatches() {
      seen += batch.count
      if seen >= waiting { break }
    }
    return seen
  }

  private func require(_ condition: Bool, _ words: String) throws {
    guard condition else { throw Failure("disproved", .disproved, words) }
  }

  private func say(_ line: String) throws {
    if !json { try console.print(line) }
  }
}
