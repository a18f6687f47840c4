import ConiferDocument
import ConiferDocumentServer
import ConiferFirestore

/// The steps of the demo of documents, and the table that it ends with.
struct DocumentDemo {
  let facts: DemoDocuments
  let writes: Int
  let stores: DemoStores
  let json: Bool
  let console: Console

  /// A write that a process reported before it was killed.
  struct Reported {
    var secret: WriteReceipt.ID?
    /// Those after it, in order.
    var ids: [WriteReceipt.ID] = []
  }

  /// Runs every step.
  ///
  /// - Throws: `Failure` with the status `disproved` when a write is missing or counted twice, or client and server do
  ///   not agree.
  func run() async throws {
    try say("client: \(stores.client)")
    try say("server: \(stores.server)")
    try say(
      "Each process below has a client and its server, with a link between them that can be cut;")
    try say("both stores are left when it is killed.")
    try say("1. the server gets \(facts.fields.count) documents")
    try await fillServer()
    try say("2. a process listens, loses its server, writes, and is killed")
    let reported = try killWriter()
    var figures = [DemoFigure("writes on the medium before the kill", reported.ids.count)]
    try say("3. the client is opened again, without its server")
    let waiting = try await showCached(reported, &figures)
    try say("4. another process sends the queue; its answers get lost midway, and it is killed")
    try killSender(after: waiting / 2)
    try say("5. the client is opened once more, and sends the rest")
    let pair = try DocumentDemoPair(stores, isReachable: false)
    let acknowledged = try await lookBetween(pair, waiting, &figures)
    try await drain(pair, acknowledged, reported, &figures)
    try await retry(pair, reported, &figures)
    let state = DocumentDemoState(after: waiting)
    try await require(pair.server, has: state)
    figures.append(DemoFigure("writes that the server made once", waiting))
    for collection in collections + ["secret"] {
      _ = try await pair.synced(pair.client.collection(collection))
    }
    try await pair.close()
    try say("6. the stores of client and server are compared, document by document")
    let compared = try await DocumentDemoProof(stores).run()
    figures.append(DemoFigure("documents compared", compared))
    figures.append(DemoFigure("documents that differ, writes missing or counted twice", 0))
    try DemoFigure.show(figures, stores: [stores.client, stores.server], json, console)
  }

  /// What is listened to.
  var collections: [String] { facts.collections + DocumentDemoWrites.collections }

  func say(_ line: String) throws {
    if !json { try console.print(line) }
  }

  func require(_ condition: Bool, _ words: @autoclosure () -> String) throws {
    guard condition else { throw Failure("disproved", .disproved, words()) }
  }
}

// The processes that are killed.
extension DocumentDemo {
  private func fillServer() async throws {
    let server = try DocumentDemoPair.server(stores)
    let database = DocumentDemoPair.database
    let beginning = facts.fields.map { ($0.key, $0.value) } + DocumentDemoState.beginning
    for (path, fields) in beginning {
      let data = fields.fields.map { ($0.name, WriteValue.value($0.value)) }
      try await server.commit([.set(DocumentPath(path), data, in: database)], in: database)
    }
    try await server.close()
  }

  /// Lets a client write until enough is on the medium, kills it, and returns what it reported.
  private func killWriter() throws -> Reported {
    let child = try ChildProcess(
      ["demo-documents", "--store", stores.client] + collections.flatMap { ["--listen", $0] })
    var reported = Reported()
    while reported.ids.count < writes, let line = try child.line() { try take(line, &reported) }
    // Reports from before its death count as well.
    try kill(child) { try take($0, &reported) }
    try say("   killed after \(Figures.count(reported.ids.count)) writes")
    return reported
  }

  private func take(_ line: String, _ reported: inout Reported) throws {
    let words = line.split(separator: " ")
    guard words.count == 2, let number = Int(words[0]), let id = WriteReceipt.ID(String(words[1]))
    else { return try say("   it tells: \(line)") }
    if number == 0 { reported.secret = id } else { reported.ids.append(id) }
  }

  private func killSender(after count: Int) throws {
    let child = try ChildProcess([
      "demo-documents", "--store", stores.client, "--hold-after", "\(max(1, count))",
    ])
    let line = try child.line()
    try kill(child) { _ in }
    guard line == "held" else {
      throw Failure("demo-documents", .internal, "The process that sends ended: \(line ?? "").")
    }
  }

  private func kill(_ child: ChildProcess, _ rest: (String) throws -> Void) throws {
    child.kill()
    while let line = try child.line() { try rest(line) }
    let end = try child.wait()
    guard end == .killed(signal: ChildProcess.killSignal) else {
      throw Failure("demo-documents", .internal, "The process was not killed: \(end).")
    }
  }
}
