import ConiferDocument
import ConiferWire
import Testing

@testable import ConiferDocumentSync

@Suite struct `A listener is told` {
  private typealias F = Fixtures

  /// The first snapshot of a view.
  private static func first(
    _ documents: [Document] = [], isCurrent: Bool = false, token: [UInt8] = []
  ) throws -> ViewSnapshot {
    var view = QueryView(try F.query(), matchedPaths: MatchedPaths(documents.map(\.path)))
    let change = TargetChange(resumeToken: token, isCurrent: isCurrent)
    return try #require(view.apply(view.changes(documents), change).snapshot)
  }

  @Test(arguments: [OnlineState.unknown, .online])
  func `its first event once there is something to tell`(online: OnlineState) throws {
    func isTold(_ snapshot: ViewSnapshot, _ options: ListenOptions = ListenOptions()) -> Bool {
      var gate = ListenerGate(options, online)
      return gate.take(snapshot) != nil
    }
    let waiting = ListenOptions(waitsForSyncWhenOnline: true)
    #expect(isTold(try Self.first(isCurrent: true)))
    #expect(isTold(try Self.first(isCurrent: true), waiting))
    #expect(isTold(try Self.first([F.document("a")])))
    #expect(!isTold(try Self.first([F.document("a")]), waiting))
    #expect(isTold(try Self.first(token: [1])))
    #expect(!isTold(try Self.first(token: [1]), waiting))
    #expect(!isTold(try Self.first()))
    #expect(isTold(try Self.first(), ListenOptions(source: .cache)))
    var offline = ListenerGate(waiting, .offline)
    #expect(offline.take(try Self.first()) != nil)
  }

  @Test func `its first event once the server cannot be reached, and not twice`() throws {
    var gate = ListenerGate(ListenOptions(waitsForSyncWhenOnline: true), .unknown)
    #expect(gate.onlineChanged(to: .offline) == nil)
    #expect(gate.onlineChanged(to: .online) == nil)
    var view = QueryView(try F.query())
    for id in ["a", "b"] {
      let snapshot = try #require(view.take(F.document(id)).snapshot)
      #expect(gate.take(snapshot) == nil)
    }
    let event = gate.onlineChanged(to: .offline)
    let told = try #require(event)
    #expect(told.told == ["added a", "added b"] && told.oldDocuments.isEmpty && told.isFromCache)
    #expect(gate.onlineChanged(to: .offline) == nil)
  }

  @Test func `of changes, and of metadata only when it asked for it`() throws {
    var plain = ListenerGate(ListenOptions(), .online)
    var full = ListenerGate(ListenOptions(includesMetadataChanges: true), .online)
    var view = QueryView(try F.query())
    func tell(_ update: QueryView.Update) throws -> [[String]?] {
      let snapshot = try #require(update.snapshot)
      return [plain.take(snapshot)?.told, full.take(snapshot)?.told]
    }
    let here = TargetChange(isCurrent: true, added: F.list("c/a"))
    #expect(try tell(view.take(F.document("a"))) == [["added a"], ["added a"]])
    #expect(try tell(view.take(target: here)) == [nil, []])
    #expect(
      try tell(view.take(F.document("a", 1, .pending))) == [["modified a"], ["modified a"]])
    #expect(try tell(view.take(F.document("a", 1, version: 2))) == [nil, ["metadata a"]])
    #expect(try tell(view.goOffline()) == [nil, []])
    let both = view.take(F.document("a", 1, .pending), F.document("b"))
    #expect(try tell(both) == [["added b"], ["added b", "metadata a"]])
  }

  @Test func `when the last pending write ends though no document changed`() throws {
    var gate = ListenerGate(ListenOptions(includesMetadataChanges: true), .online)
    var view = QueryView(try F.query(first: 1))
    let first = try #require(view.take(F.document("a", 1, .pending)).snapshot)
    _ = gate.take(first)
    let ended = try #require(view.take(F.document("a", 1)).snapshot)
    #expect(gate.take(ended.withoutMetadataChanges)?.hasPendingWrites == false)
  }

  @Test func `who begins later, all that the view has as added`() throws {
    var view = QueryView(try F.query())
    view.take(F.document("a"), target: TargetChange(isCurrent: true, added: F.list("c/a")))
    view.take(F.document("b", 0, .pending))
    var gate = ListenerGate(ListenOptions(), .online)
    let event = gate.take(view.snapshot)
    let told = try #require(event)
    #expect(told.told == ["added a", "added b"] && !told.isFromCache && told.hasPendingWrites)
  }
}

@Suite struct `A get` {
  private typealias F = Fixtures

  private static func snapshot(_ documents: [Document], isCurrent: Bool) throws -> ViewSnapshot {
    var view = QueryView(try F.query(), matchedPaths: MatchedPaths(documents.map(\.path)))
    return try #require(
      view.apply(view.changes(documents), TargetChange(isCurrent: isCurrent)).snapshot)
  }

  @Test func `of a document from the cache fails when nothing is known of it`() throws {
    #expect(try GetSource.cached(F.document("a")) == F.document("a"))
    #expect(try GetSource.cached(F.missing("a")).state == .missing)
    for state in [Document.State.unseen, .unknown] {
      let error = #expect(throws: StatusError.self) {
        try GetSource.cached(Document(F.path("c/a"), state))
      }
      #expect(error?.code == .unavailable)
    }
  }

  @Test func `of a document fails offline when it is not here, or the server was asked for`() throws
  {
    let path = F.path("c/a")
    let there = try Self.snapshot([F.document("a")], isCurrent: true)
    let here = try Self.snapshot([F.document("a")], isCurrent: false)
    let gone = try Self.snapshot([], isCurrent: true)
    let unknown = try Self.snapshot([], isCurrent: false)
    for source in [GetSource.default, .server] {
      #expect(try source.document(path, in: there) == F.document("a"))
      #expect(try source.document(path, in: gone).state == .missing)
      #expect(throws: StatusError.self) { try source.document(path, in: unknown) }
    }
    #expect(try GetSource.default.document(path, in: here) == F.document("a"))
    #expect(throws: StatusError.self) { try GetSource.server.document(path, in: here) }
  }

  @Test func `of a query fails offline only when the server was asked for`() throws {
    let empty = try Self.snapshot([], isCurrent: false)
    #expect(try GetSource.default.documents(in: empty).ids.isEmpty)
    #expect(try GetSource.cache.documents(in: empty).isFromCache)
    #expect(throws: StatusError.self) { try GetSource.server.documents(in: empty) }
    #expect(
      try GetSource.server.documents(in: Self.snapshot([F.document("a")], isCurrent: true)).ids
        == ["a"])
    #expect(GetSource.listenOptions.waitsForSyncWhenOnline)
  }
}
