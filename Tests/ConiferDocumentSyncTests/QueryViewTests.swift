import ConiferDocument
import ConiferWire
import Testing

@testable import ConiferDocumentSync

@Suite struct `The view of a query` {
  private typealias F = Fixtures

  @Test func `tells what came, changed and went, in the order of the query`() throws {
    var view = QueryView(try F.query())
    let first = try #require(view.take(F.document("b"), F.document("a")).snapshot)
    #expect(first.told == ["added a", "added b"] && first.ids == ["a", "b"])
    #expect(first.isFromCache && first.syncStateChanged && !first.hasPendingWrites)

    let changes = view.take(
      F.document("d"), F.document("b", 1), F.missing("a"), F.document("c"))
    let second = try #require(changes.snapshot)
    #expect(second.told == ["removed a", "added c", "added d", "modified b"])
    #expect(second.ids == ["b", "c", "d"] && Array(second.oldDocuments).count == 2)
    #expect(!second.syncStateChanged)
    // The same documents again are no change.
    #expect(view.take(F.document("d", version: 2), F.missing("x")).snapshot == nil)
  }

  @Test func `tells places that lead from the old documents to the new ones`() throws {
    var view = QueryView(try F.query(last: 9))
    view.take(F.document("a", 1), F.document("b", 2), F.document("c", 3))
    let snapshot = try #require(
      view.take(F.missing("a"), F.document("b", 9), F.document("d", 0)).snapshot)
    let changes = try snapshot.indexedChanges()
    #expect(changes.map(\.document.path.id) == ["a", "d", "b"])
    #expect(changes.map(\.oldIndex) == [0, nil, 1])
    #expect(changes.map(\.newIndex) == [nil, 0, 2])
    #expect(try view.snapshot.indexedChanges().map(\.newIndex) == [0, 1, 2])
  }

  @Test func `tells changes of metadata to those who ask, unless they were left out`() throws {
    var view = QueryView(try F.query())
    view.take(F.document("a", 0, .pending))
    let snapshot = try #require(view.take(F.document("a")).snapshot)
    #expect(snapshot.told == ["metadata a"] && !snapshot.hasPendingWrites)
    #expect(try snapshot.indexedChanges().isEmpty)
    #expect(try snapshot.indexedChanges(includesMetadata: true).map(\.kind) == [.modified])
    #expect(throws: StatusError.self) {
      try snapshot.withoutMetadataChanges.indexedChanges(includesMetadata: true)
    }
  }

  @Test func `is synced once it is current and holds what the server says`() throws {
    var view = QueryView(try F.query())
    view.take(F.document("a"), F.document("b"))
    let limbo = view.take(
      target: TargetChange(resumeToken: [1], isCurrent: true, added: F.list("c/a")))
    #expect(limbo.intoLimbo == F.paths("c/b") && limbo.outOfLimbo.isEmpty)
    #expect(limbo.snapshot == nil)

    let resolved = view.take(F.missing("b", version: 2))
    #expect(resolved.outOfLimbo == F.paths("c/b") && resolved.snapshot?.isFromCache == false)
    #expect(resolved.snapshot?.told == ["removed b"])

    let left = view.take(target: TargetChange(isCurrent: true, removed: F.list("c/a")))
    #expect(left.intoLimbo == F.paths("c/a") && left.snapshot?.isFromCache == true)
  }

  @Test func `asks nobody for a document that a pending write explains`() throws {
    var view = QueryView(try F.query())
    let update = view.take(F.document("a", 0, .pending), target: TargetChange(isCurrent: true))
    #expect(update.intoLimbo.isEmpty && update.snapshot?.isFromCache == false)
    #expect(update.snapshot?.hasPendingWrites == true)
    // The write was refused, and an older document shows again.
    let refused = view.take(F.document("a", 1))
    #expect(refused.intoLimbo == F.paths("c/a") && refused.snapshot?.isFromCache == true)
  }

  @Test func `holds the limbo as it is while a target is asked for anew`() throws {
    var view = QueryView(try F.query(), matchedPaths: MatchedPaths(F.paths("c/a")))
    view.take(F.document("a"), target: TargetChange(isCurrent: true))
    let reset = view.take(
      target: TargetChange(isCurrent: false, removed: F.list("c/a")), isPendingReset: true)
    #expect(reset.intoLimbo.isEmpty && reset.snapshot?.isFromCache == true)
    let again = view.take(
      target: TargetChange(isCurrent: true, added: F.list("c/a")))
    #expect(again.intoLimbo.isEmpty && again.snapshot?.isFromCache == false)
  }

  @Test func `offline is from the cache until it is current again`() throws {
    var view = QueryView(try F.query())
    #expect(view.goOffline().snapshot == nil)
    view.take(F.document("a"), target: TargetChange(isCurrent: true, added: F.list("c/a")))
    let offline = try #require(view.goOffline().snapshot)
    #expect(offline.isFromCache && offline.syncStateChanged && offline.changes.isEmpty)
    #expect(view.goOffline().snapshot == nil)
    #expect(view.take(target: TargetChange(isCurrent: true)).snapshot?.isFromCache == false)
  }

  @Test func `tells a write twice: when it is made, and when the server sends it back`() throws {
    var view = QueryView(try F.query())
    view.take(F.document("a", 1), target: TargetChange(isCurrent: true, added: F.list("c/a")))
    #expect(view.take(F.document("a", 2, .pending)).snapshot?.told == ["modified a"])
    // Accepted, with another number than was guessed: the server's word is waited for.
    #expect(view.take(F.document("a", 3, version: 2, .committed)).snapshot == nil)
    let last = try #require(view.take(F.document("a", 3, version: 2)).snapshot)
    #expect(last.told == ["modified a"] && !last.hasPendingWrites)
    // A write that was accepted before the view saw it is not pending.
    var late = QueryView(try F.query())
    #expect(late.take(F.document("a", 3, .committed)).snapshot?.hasPendingWrites == false)
  }

  @Test(arguments: [true, false])
  func `with a full limit shows an accepted write that ends beyond it`(isFirst: Bool) throws {
    func number(_ n: Int64) -> Int64 { isFirst ? n : -n }
    var view = QueryView(try F.query(first: isFirst ? 2 : nil, last: isFirst ? nil : 2))
    let (a, b) = (F.document("a", number(5)), F.document("b", number(6)))
    view.take(a, b, target: TargetChange(isCurrent: true, added: F.list("c/a", "c/b")))
    let pending = try #require(view.take(F.document("c", number(1), .pending)).snapshot)
    #expect(Set(pending.ids) == ["a", "c"] && pending.hasPendingWrites)
    // The server tells nothing of a document that it shows neither before nor after.
    let beyond = view.changes([F.document("c", number(9), version: 2, .committed)])
    #expect(beyond.needsRefill)
    let refilled = view.apply(view.changes([a, b], after: beyond))
    let last = try #require(refilled.snapshot)
    #expect(Set(last.ids) == ["a", "b"] && !last.hasPendingWrites && !last.isFromCache)
    #expect(refilled.intoLimbo.isEmpty)
  }

  @Test(arguments: [true, false], [true, false])
  func `shows an accepted write that others push beyond a full limit`(
    isFirst: Bool, goesOffline: Bool
  ) throws {
    func number(_ n: Int64) -> Int64 { isFirst ? n : -n }
    var view = QueryView(try F.query(first: isFirst ? 2 : nil, last: isFirst ? nil : 2))
    view.take(
      F.document("a", number(5)), F.document("b", number(6)),
      target: TargetChange(isCurrent: true, added: F.list("c/a", "c/b")))
    view.take(F.document("c", number(1), .pending))
    // The server would send it.
    #expect(view.take(F.document("c", number(4), version: 2, .committed)).snapshot == nil)
    if goesOffline { _ = view.goOffline() }
    let others = [F.document("d", number(2), version: 3), F.document("e", number(3), version: 3)]
    let changes = view.changes(others)
    #expect(changes.needsRefill)
    let event = TargetChange(
      isCurrent: true, added: F.list("c/d", "c/e"), removed: F.list("c/a", "c/b"))
    let update = view.apply(view.changes(others, after: changes), event)
    let last = try #require(update.snapshot)
    #expect(Set(last.ids) == ["d", "e"] && !last.hasPendingWrites && !last.isFromCache)
  }

  @Test(arguments: [1, 7] as [Int64])
  func `asks for an accepted write that the server has passed over`(result: Int64) throws {
    var view = QueryView(try F.query())
    view.take(F.document("a"), target: TargetChange(isCurrent: true, added: F.list("c/a")))
    view.take(F.document("c", 1, .pending))
    #expect(view.take(F.document("c", result, version: 3, .committed)).snapshot == nil)
    // This is older than the write.
    let early = view.apply(view.changes([], asOf: F.time(2)))
    #expect(early.snapshot == nil && early.intoLimbo.isEmpty)
    // The server has not said everything on the stream of the moment.
    #expect(view.apply(view.changes([])).snapshot == nil)
    let later = view.apply(view.changes([], asOf: F.time(3)))
    #expect(later.intoLimbo == F.paths("c/c") && later.snapshot?.isFromCache == true)
    #expect(later.snapshot?.told == [result == 1 ? "metadata c" : "modified c"])
    #expect(later.snapshot?.hasPendingWrites == false)
    let resolved = view.take(F.missing("c", version: 4))
    #expect(resolved.outOfLimbo == F.paths("c/c"))
    #expect(resolved.snapshot?.ids == ["a"] && resolved.snapshot?.isFromCache == false)
    #expect(resolved.snapshot?.hasPendingWrites == false)
  }

  @Test func `waits for an accepted write that the moment itself tells`() throws {
    var view = QueryView(try F.query())
    view.take(F.document("a"), target: TargetChange(isCurrent: true, added: F.list("c/a")))
    view.take(F.document("c", 1, .pending))
    #expect(view.take(F.document("c", 7, version: 2, .committed)).snapshot == nil)
    let event = TargetChange(isCurrent: true, added: F.list("c/c"))
    // As part of an event that is stored in parts.
    let update = view.apply(view.changes([], asOf: F.time(3), event), event)
    #expect(update.snapshot == nil && update.intoLimbo.isEmpty)
  }

  @Test(arguments: [1, 2, 3], [true, false])
  func `with a limit tells an accepted write that stays within it once`(
    limit: Int, isFirst: Bool
  ) throws {
    func number(_ n: Int64) -> Int64 { isFirst ? n : -n }
    var view = QueryView(try F.query(first: isFirst ? limit : nil, last: isFirst ? nil : limit))
    let others = (1..<limit).map { F.document("o\($0)", number(Int64($0) * 10)) }
    _ = view.apply(
      view.changes(others), TargetChange(isCurrent: true, added: others.map(\.path)))
    // The guess comes first, the result last, and the server has no others.
    view.take(F.document("c", number(0), .pending))
    let accepted = F.document("c", number(99), version: 2, .committed)
    var changes = view.changes([accepted])
    if changes.needsRefill { changes = view.changes(others + [accepted], after: changes) }
    let update = view.apply(changes)
    #expect(!changes.needsRefill && update.snapshot == nil && update.intoLimbo.isEmpty)
    let told = try #require(
      view.take(
        F.document("c", number(99), version: 2),
        target: TargetChange(isCurrent: true, added: F.list("c/c"))
      ).snapshot)
    #expect(told.told == ["modified c"] && !told.hasPendingWrites && !told.isFromCache)
  }

  @Test func `with a limit drops what is beyond it`() throws {
    var first = QueryView(try F.query(first: 2))
    #expect(
      first.take(F.document("c", 3), F.document("a", 1), F.document("b", 2)).snapshot?.told
        == ["added a", "added b"])
    #expect(first.take(F.document("d", 0)).snapshot?.told == ["removed b", "added d"])
    var last = QueryView(try F.query(last: 2))
    last.take(F.document("c", 3), F.document("a", 1), F.document("b", 2))
    #expect(last.take(F.document("d", 4)).snapshot?.ids == ["c", "d"])
  }

  @Test(arguments: [true, false])
  func `with a full limit asks for a refill when a document leaves it`(isFirst: Bool) throws {
    var view = QueryView(try F.query(first: isFirst ? 2 : nil, last: isFirst ? nil : 2))
    view.take(F.document("a", 1), F.document("b", 2))
    let inside: Int64 = isFirst ? 0 : 9
    let outside: Int64 = isFirst ? 9 : 0
    #expect(!view.changes([F.document("a", inside)]).needsRefill)
    let moved = F.document(isFirst ? "a" : "b", outside)
    #expect(view.changes([moved]).needsRefill)
    let removal = view.changes([F.missing("a")])
    #expect(removal.needsRefill)
    // The store knew a third one.
    let refilled = view.changes([F.document("b", 2), F.document("c", 5)], after: removal)
    #expect(!refilled.needsRefill)
    let snapshot = try #require(view.apply(refilled).snapshot)
    #expect(snapshot.told == ["removed a", "added c"] && snapshot.ids == ["b", "c"])
    // A limit that is not reached has nothing beyond it.
    view.take(F.missing("c"))
    #expect(!view.changes([F.missing("b")]).needsRefill)
  }

  @Test(arguments: [nil, 20, 500], [true, false])
  func `without documents takes many at once as it takes them one by one`(
    limit: Int?, isFirst: Bool
  ) throws {
    let query = try F.query(first: isFirst ? limit : nil, last: isFirst ? nil : limit)
    // In no order of ids or numbers.
    let documents = (0..<300).map { place in
      let number = place * 7 % 300
      return number % 50 == 0
        ? F.missing("\(number)")
        : F.document("\(number)", Int64(number * 11 % 300), number % 7 == 0 ? .pending : .synced)
    }
    var (atOnce, oneByOne) = (QueryView(query), QueryView(query))
    let first = try #require(atOnce.apply(atOnce.changes(documents)).snapshot)
    for document in documents { oneByOne.take(document) }
    #expect(first.ids == oneByOne.snapshot.ids && first.ids.count == min(limit ?? 294, 294))
    #expect(first.told == first.ids.map { "added \($0)" } && first.oldDocuments.isEmpty)
    #expect(first.pendingPaths == oneByOne.pendingPaths && first.hasPendingWrites)
    for document in [F.document("7", 900), F.document("x", 150), F.document("77", -1)] {
      #expect(atOnce.take(document).snapshot?.told == oneByOne.take(document).snapshot?.told)
    }
    #expect(atOnce.snapshot.ids == oneByOne.snapshot.ids)
    // The server knows of none of them.
    let (a, b) = (
      atOnce.take(target: TargetChange(isCurrent: true)),
      oneByOne.take(target: TargetChange(isCurrent: true))
    )
    #expect(a.intoLimbo == b.intoLimbo && !a.intoLimbo.isEmpty)
    // One that comes twice is one.
    var twice = QueryView(query)
    twice.take(F.document("a", 1), F.document("b", 2), F.document("a", 3))
    #expect(
      twice.snapshot.ids.sorted() == ["a", "b"]
        && twice.documents.first?.path.id == (limit == nil ? "a" : "b"))
  }

  @Test func `joins changes of several passes to one a document`() throws {
    let (old, new) = (F.document("a", 1), F.document("a", 2))
    func joined(_ kinds: DocumentChange.Kind...) throws -> DocumentChange? {
      var set = ChangeSet()
      for (kind, document) in zip(kinds, [old, new]) { set.track(DocumentChange(kind, document)) }
      return set.sorted(by: try F.query().documentOrder).first
    }
    #expect(try joined(.added, .removed) == nil)
    #expect(try joined(.added, .modified) == DocumentChange(.added, new))
    #expect(try joined(.added, .metadata) == DocumentChange(.added, new))
    #expect(try joined(.removed, .added) == DocumentChange(.modified, new))
    #expect(try joined(.modified, .removed) == DocumentChange(.removed, old))
    #expect(try joined(.modified, .metadata) == DocumentChange(.modified, new))
    #expect(try joined(.metadata, .modified) == DocumentChange(.modified, new))
    #expect(try joined(.metadata, .removed) == DocumentChange(.removed, new))
  }
}
