import ConiferDocument
import ConiferDocumentServer
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

@testable import StorageConformance

/// Opens what processes that were killed, or lost their power, have left, and compares it with what their apps were told.
struct KillVerdict {
  /// What the apps of two clients were told.
  struct Report {
    /// The writes that were durable.
    var durable: [(write: KilledWrite, id: WriteReceipt.ID)] = []
    /// The writes that had ended: with a refusal or not.
    var ended: [String: Bool] = [:]
    /// The writes that were not queued.
    var failed: Set<String> = []

    init(_ lines: [Substring]) throws {
      for line in lines {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let write = try #require(words.count > 2 ? KilledWrite(name: words[1]) : nil, "\(line)")
        switch words[0] {
        case "durable":
          let number = try #require(words.count == 4 ? UInt64(words[3]) : nil, "\(line)")
          durable.append((write, WriteReceipt.ID(identity: words[2], number: number)))
        case "failed": failed.insert(write.name)
        default:
          let isRefused = words[2] != "made"
          #expect(!isRefused || words[2] == "permission-denied", "\(line)")
          ended[write.name] = isRefused
        }
      }
    }
  }

  let store: EngineStore
  let directory: String
  let names: [String]
  let place: String
  let report: Report
  private let pump: DocumentPump
  private let server: DocumentServer

  /// - Parameters:
  ///   - names: the clients.
  ///   - lines: what their apps were told, as a killed program reports it.
  ///   - place: where it is, for failures.
  ///   - server: the server's backend, unless it is the clients'.
  init(
    _ store: EngineStore, _ directory: String, _ names: [String], _ lines: [Substring],
    _ place: String, seed: UInt64, server: EngineStore? = nil
  ) throws {
    self.store = store
    self.directory = directory
    self.names = names
    self.place = place
    report = try Report(lines)
    pump = DocumentPump(seed: seed)
    self.server = try ClientProgram.makeServer(
      (server ?? store).configuration(at: directory + "/server"), history: 10_000, DiskFaults(),
      DocumentServerConfiguration.systemTime)
  }

  private func client(_ name: String) -> ProgramClient {
    ProgramClient(
      name, store.configuration(at: directory + "/" + name),
      ProgramLink(to: ClientProgram.database, of: server, .pump(pump), seed: 0), PumpClock(pump),
      .process, seed: 0)
  }

  // MARK: Before the server is there

  /// Requires each durable write in its queue, or its end.
  func checkQueues() async throws {
    for name in names {
      // The pump is not moved: nothing comes from the server.
      let client = client(name)
      try await checkQueue(client)
      await client.end()
    }
    try await server.close()
  }

  private func checkQueue(_ client: ProgramClient) async throws {
    var states: [WriteReceipt.ID: WriteState] = [:]
    for user in ["ann", "bob"] {
      client.become(user)
      await client.engine.waitUntilIdle()
      for write in try await client.engine.pendingWrites(
        after: nil, limit: .max, rejectedOnly: false)
      {
        states[write.id] = write.state
      }
    }
    for (write, id) in report.durable where write.client == client.name {
      let end = report.ended[write.name]
      switch states[id] {
      case .rejected?:
        #expect(write.kind == .refused && end != false, "\(place): \(write.name) is refused")
      case _?: #expect(end == nil, "\(place): \(write.name) waits, and had ended")
      case nil:
        let outcome = try? await client.engine.outcome(of: id)
        #expect(outcome == .acknowledged, "\(place): \(write.name) is lost")
        #expect(end != true, "\(place): the refused \(write.name) is lost")
      }
    }
  }

  // MARK: With the server

  /// Lets everything come to rest, and requires that each write has its one end, was made once, and is seen by all.
  func checkEnds() async throws {
    let clients = names.map { client($0) }
    for client in clients {
      for collection in KilledWrite.collections { client.listen(try KilledWrite.query(collection)) }
    }
    for user in ["ann", "bob"] {
      for client in clients { client.become(user) }
      try await drain(clients)
      for client in clients {
        let writes = try await client.engine.pendingWrites(
          after: nil, limit: .max, rejectedOnly: false)
        let waiting = writes.filter { if case .rejected = $0.state { false } else { true } }
        #expect(waiting.isEmpty, "\(place): \(client.name) has writes of \(user) that wait")
      }
    }
    for client in clients {
      try await checkQueue(client)
      for heard in client.listeners {
        let what = "\(place): \(client.name) listens to \(heard.query.canonical)"
        let state = heard.now
        #expect(state.complaints.isEmpty && state.error == nil, "\(what)")
        let wanted = try await documents(heard.query)
        #expect(state.last.map { fields(Array($0.documents)) } == fields(wanted), "\(what)")
        #expect(
          state.last?.isFromCache == false && state.last?.hasPendingWrites == false, "\(what)")
      }
    }
    try await checkServer()
    for client in clients { await client.end() }
    try await server.close()
  }

  /// Delivers all that there is.
  private func drain(_ clients: [ProgramClient]) async throws {
    for _ in 0..<20_000 {
      for client in clients { await client.engine.waitUntilIdle() }
      await server.waitUntilIdle()
      for client in clients { await client.engine.waitUntilIdle() }
      if !pump.step() { return }
    }
    Issue.record("\(place): the clients do not come to rest")
  }

  private func checkServer() async throws {
    let made = try await documents(try KilledWrite.query("log"))
      .compactMap { KilledWrite(name: $0.path.id) }
    let names = Set(made.map(\.name))
    #expect(!made.contains { $0.kind == .refused }, "\(place): refused writes were made")
    #expect(names.isDisjoint(with: report.failed), "\(place): writes were made that had failed")
    for (write, _) in report.durable where write.kind != .refused {
      #expect(names.contains(write.name), "\(place): \(write.name) is lost")
    }
    let count = try await documents(try KilledWrite.query("counters")).first?.fields?["n"]
    #expect(
      count ?? .integer(0) == .integer(Int64(made.count { $0.kind == .counting })),
      "\(place): increments are lost, or were made twice")
    let set = try await documents(try KilledWrite.query("sets")).first?.fields?["of"]
    guard case .array(let members) = set ?? .array([]) else {
      Issue.record("\(place): the set is none")
      return
    }
    #expect(
      members.compactMap { if case .string(let name) = $0 { name } else { nil } }.sorted()
        == made.filter { $0.kind == .joining }.map(\.name).sorted(),
      "\(place): the set is another one")
  }

  private func documents(_ query: DocumentQuery) async throws -> [Document] {
    try await server.documents(query).map {
      Document($0.path, .found($0.fields), version: $0.updateTime)
    }
  }

  private func fields(_ documents: [Document]) -> [String: MapValue] {
    documents.reduce(into: [:]) { $0["\($1.path)"] = $1.fields }
  }
}
