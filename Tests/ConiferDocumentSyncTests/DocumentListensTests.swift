import ConiferDocument
import ConiferWire
import Testing

@testable import ConiferDocumentSync

@Suite struct `The listens of a client` {
  private typealias F = Fixtures

  private static func query(_ collection: String) throws -> DocumentQuery {
    DocumentQuery(.collection(try CollectionPath(collection)), in: F.database)
  }

  private static func told(_ actions: [SyncAction]) -> [ListenerID] {
    actions.compactMap { if case .tell(let id, _, _) = $0 { id } else { nil } }
  }

  /// Listeners of the queries, by their places, that hear of each change.
  private static func listens(_ queries: [DocumentQuery]) -> ListenMachine {
    var listens = ListenMachine(F.database)
    for (id, query) in queries.enumerated() {
      _ = listens.listen(
        ListenerID(id), query, ListenOptions(includesMetadataChanges: true, source: .cache),
        stored: StoredQuery())
    }
    return listens
  }

  @Test func `tell of a document those who look where it is, in their order`() throws {
    let below = try Self.query("c/a/d")
    var queries = [
      try Self.query("x"), DocumentQuery(.group("c"), in: F.database), try Self.query("c"),
      DocumentQuery(.document(F.path("c/a")), in: F.database),
      DocumentQuery(.document(F.path("c/b")), in: F.database), below,
    ]
    var listens = Self.listens(queries)
    #expect(Self.told(listens.changed([F.document("a")], .write)) == [1, 2, 3])
    #expect(Self.told(listens.changed([F.document("b")], .write)) == [1, 2, 4])
    _ = listens.unlisten(1)
    let both = [F.document("a", 2), F.document("b", 2)]
    #expect(Self.told(listens.changed(both, .write)) == [2, 3, 4])
    #expect(listens.listenedSources == Set((queries.remove(at: 1), queries).1.map(\.source)))
    #expect(listens.needs(F.path("c/a")) && !listens.needs(F.path("c/z")))
    for id: ListenerID in [2, 3, 4] { _ = listens.unlisten(id) }
    #expect(listens.changed([F.document("a", 3)], .write).isEmpty && !listens.needs(F.path("c/a")))
  }

  @Test func `hold once what several of them show, and show what the store has`() throws {
    var listens = ListenMachine(F.database)
    /// Begins to listen, and gives what is shown: the documents, and where in memory their fields are.
    func shown(
      _ id: ListenerID, _ query: DocumentQuery, _ documents: [Document]
    ) throws -> (documents: [Document], places: [UnsafePointer<MapValue.Field>?]) {
      let actions = listens.listen(
        id, query, ListenOptions(source: .cache), stored: StoredQuery(documents: documents))
      guard case .tell(_, let snapshot, _)? = actions.first else { return ([], []) }
      let places = snapshot.documents.map { document in
        document.fields?.fields.withUnsafeBufferPointer { $0.baseAddress } ?? nil
      }
      return (Array(snapshot.documents), places)
    }
    let first = try shown(1, Self.query("c"), [F.document("a", 1), F.document("b", 2)])
    let others = [
      F.document("a", 1), F.document("b", 2, version: 2), F.document("c", 3),
    ]
    let second = try shown(2, F.query(first: 9), others)
    #expect(second.documents == others)
    #expect(second.places[0] == first.places[0])
    #expect(second.places[1] != first.places[1])
    // What a view of elsewhere shows is not looked at.
    let third = try shown(3, DocumentQuery(.group("c"), in: F.database), others)
    #expect(third.documents == others)
  }

  @Test func `ask once more of a document in limbo when its refusal could not be stored`() throws {
    var listens = ListenMachine(F.database)
    let query = try Self.query("c")
    _ = listens.listen(
      1, query, ListenOptions(), stored: StoredQuery(documents: [F.document("a")]))
    _ = listens.streamOpened()
    _ = listens.received(.targets(.added, [2]))
    _ = listens.received(.targets(.current, [2], resumeToken: [1]))
    for case .store(let event) in listens.received(.targets(.noChange, []), version: F.time(5)) {
      _ = listens.stored(event, [])
    }
    let target = try #require(listens.activeLimbo[F.path("c/a")])
    let refusal = listens.received(
      .targets(.rejected(StatusError(.permissionDenied, "")), [target]))
    guard case .store(let event)? = refusal.first else {
      Issue.record("The refusal says nothing of the document.")
      return
    }
    #expect(listens.targets[target] == nil)
    _ = listens.setEnabled(false)
    #expect(listens.notStored(event).isEmpty)
    #expect(listens.targets[target]?.purpose == .limboResolution)
    _ = listens.setEnabled(true)
    let asked = listens.streamOpened().compactMap {
      if case .add(let target) = $0 { target.id } else { nil }
    }
    #expect(asked == [target, 2].sorted())
  }

  @Test func `may leave the network for a moment without anybody's being told`() throws {
    var listens = Self.listens([])
    _ = listens.listen(1, try Self.query("c"), ListenOptions(), stored: StoredQuery())
    #expect(listens.setEnabled(false, meanwhile: .unknown).isEmpty)
    #expect(listens.onlineState == .unknown)
    #expect(Self.told(listens.setEnabled(false)) == [1])
    #expect(listens.onlineState == .offline)
  }

  @Test func `say why the server cannot be reached, once`() throws {
    func warnings(_ actions: [SyncAction]) -> [StatusError] {
      actions.compactMap { if case .warnOffline(let cause) = $0 { cause } else { nil } }
    }
    func listening() throws -> ListenMachine {
      var listens = ListenMachine(F.database)
      _ = listens.listen(1, try Self.query("c"), ListenOptions(), stored: StoredQuery())
      _ = listens.streamStarted(at: 0)
      return listens
    }
    var (failing, silent) = (try listening(), try listening())
    let error = StatusError(.unavailable, "No such host.")
    #expect(warnings(failing.streamClosed(error)) == [error])
    #expect(warnings(failing.streamClosed(error)).isEmpty)
    #expect(warnings(silent.tick(at: 10_000)).map(\.code) == [.unavailable])
  }

  @Test func `do not know whether the server can be reached once nobody listens`() throws {
    var listens = ListenMachine(F.database)
    func listen(_ id: ListenerID) throws -> [SyncAction] {
      listens.listen(id, try Self.query("c"), ListenOptions(), stored: StoredQuery())
    }
    _ = try listen(1)
    _ = listens.streamStarted(at: 0)
    #expect(Self.told(listens.streamClosed(StatusError(.unavailable, ""))) == [1])
    _ = listens.unlisten(1)
    #expect(listens.onlineState == .unknown)
    // Another one waits for the next attempt.
    #expect(Self.told(try listen(2)).isEmpty)
    _ = listens.streamStarted(at: 1_000)
    #expect(Self.told(listens.streamClosed(StatusError(.unavailable, ""))) == [2])
    // Without a network nothing is tried.
    _ = listens.setEnabled(false)
    _ = listens.unlisten(2)
    #expect(listens.onlineState == .offline)
    #expect(Self.told(try listen(3)) == [3])
  }

  @Test func `tell each listener of an empty query at once that the server told before`() throws {
    var listens = ListenMachine(F.database)
    let query = try Self.query("c")
    for id: ListenerID in [1, 2] {
      let actions = listens.listen(
        id, query, ListenOptions(), stored: StoredQuery(resumeToken: [1]))
      #expect(Self.told(actions) == [id])
    }
  }

  @Test func `keep what changes while a limit waits to be filled again`() throws {
    var listens = ListenMachine(F.database)
    let query = try F.query(first: 2)
    let documents = [F.document("a", 1), F.document("b", 2)]
    _ = listens.listen(
      1, query, ListenOptions(includesMetadataChanges: true, source: .cache),
      stored: StoredQuery(documents: documents))
    guard case .read? = listens.changed([F.missing("a")], .write).first else {
      Issue.record("A document left a full limit, and nobody reads the query.")
      return
    }
    // The read fails, and another document goes.
    #expect(listens.changed([F.missing("b")], .write).isEmpty && !listens.isSynced(query))
    #expect(Self.told(listens.setEnabled(false)).isEmpty)
    let filled = listens.refilled(query, [F.document("c", 3), F.document("d", 4)])
    guard case .tell(1, let snapshot, _)? = filled.first else {
      Issue.record("Nobody is told of the limit that is full again.")
      return
    }
    #expect(snapshot.ids == ["c", "d"] && snapshot.isFromCache)
    #expect(snapshot.told == ["removed a", "removed b", "added c", "added d"])
  }

  @Test func `are not current by what came before the network was left and is read behind that`()
    throws
  {
    var listens = ListenMachine(F.database)
    let query = try F.query(first: 2)
    let all = [F.document("a", 1), F.document("b", 2), F.document("c", 3)]
    _ = listens.listen(
      1, query, ListenOptions(includesMetadataChanges: true),
      stored: StoredQuery(documents: Array(all.prefix(2)), resumeToken: [1]))
    _ = listens.streamOpened()
    _ = listens.received(.targets(.added, [2]))
    _ = listens.received(.document(F.missing("a"), matching: []))
    _ = listens.received(.targets(.current, [2], resumeToken: [2]))
    for case .store(let event) in listens.received(.targets(.noChange, []), version: F.time(5)) {
      guard case .read? = listens.stored(event, [F.missing("a")]).first else {
        Issue.record("A document left a full limit, and nobody reads the query.")
        return
      }
    }
    // The read fails, and the network is left before it is done.
    _ = listens.setEnabled(false)
    guard case .tell(1, let snapshot, _)? = listens.refilled(query, Array(all.dropFirst())).first
    else {
      Issue.record("Nobody is told of the limit that is full again.")
      return
    }
    #expect(snapshot.ids == ["b", "c"] && snapshot.isFromCache && !listens.isSynced(query))
  }
}
