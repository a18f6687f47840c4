import ConiferDocument
import ConiferWire
import Testing

@testable import ConiferDocumentSync

@Suite struct `The stream of listens` {
  private typealias F = Fixtures

  @Test func `takes nothing of an earlier listen for what the server says of a later one`() throws {
    let target = WatchTarget(2, DocumentQuery(.document(F.path("c/d")), in: F.database).target)
    var machine = WatchMachine(F.database)
    func say(_ change: WatchChange, at seconds: Int64? = nil) -> [WatchAction] {
      machine.received(change, version: seconds.map(F.time)) { _ in [] }
    }
    _ = machine.listen(target) { _ in [] }
    _ = machine.streamOpened { _ in [] }
    _ = say(.targets(.added, [2]))
    _ = say(.targets(.current, [2], resumeToken: [1]))
    for case .event(let event) in say(.targets(.noChange, []), at: 5) { machine.stored(event) }
    // The document is made before the server has answered the second listen.
    _ = machine.unlisten(2)
    _ = machine.listen(target) { _ in [] }
    _ = say(.targets(.removed, [2]))
    _ = say(.targets(.added, [2]))
    for case .event(let event) in say(.targets(.noChange, []), at: 7) {
      #expect(event.targets[2] == nil && event.documents.isEmpty)
    }
  }

  @Test func `finds out once more that the client had other documents when that was not stored`()
    throws
  {
    var watched = try Watched("c/a", "c/b")
    _ = watched.say(.targets(.current, [2], resumeToken: [1]))
    _ = try watched.snapshot(at: 5)
    _ = watched.say(.filter(2, count: 1))
    let actions = watched.say(.targets(.noChange, []), at: 6)
    #expect(actions.count == 3)
    #expect(watched.machine.targets[2]?.resumeToken == [1])
    // The event is lost, and the stream with it: the server goes on where the store is.
    _ = watched.machine.streamClosed()
    guard case .add(let target)? = watched.open().first else {
      Issue.record("The target was not asked for.")
      return
    }
    #expect(target.resumeToken == [1] && target.expectedCount == 2)
  }

  @Test func `says nothing before it is consistent, and then all at once`() throws {
    var watched = try Watched("c/b", "c/x")
    #expect(watched.say(.document(F.document("a"), matching: [2])).isEmpty)
    #expect(watched.say(.document(F.document("b", 1, version: 2), matching: [2])).isEmpty)
    #expect(watched.say(.left(F.path("c/x"), [2])).isEmpty)
    #expect(watched.say(.targets(.current, [2], resumeToken: [7])).isEmpty)
    let event = try watched.snapshot(at: 9)
    #expect(event.version == F.time(9) && event.mismatches.isEmpty)
    #expect(
      event.targets == [
        2: TargetChange(
          resumeToken: [7], isCurrent: true, added: F.list("c/a"), modified: F.list("c/b"),
          removed: F.list("c/x"))
      ])
    #expect(event.documents.count == 2 && event.resolvedLimbo.isEmpty)
    #expect(event.document("c/b")?.readTime == F.time(9))
    // What was told is not told again.
    #expect(try watched.snapshot(at: 10).targets.isEmpty)
  }

  @Test func `ends the targets of which something cannot be read, and tells the server`() throws {
    let error = StatusError(.dataLoss, "no")
    var watched = try Watched()
    let (other, third) = (
      WatchTarget(4, DocumentQuery(.group("d"), in: F.database).target),
      WatchTarget(6, DocumentQuery(.group("e"), in: F.database).target)
    )
    _ = watched.listen(other)
    _ = watched.say(.targets(.added, [4]))
    _ = watched.listen(third)
    // It is of an earlier listen, of a target that nobody listens to, or of none.
    for ids: [TargetID] in [[6], [8], []] {
      let said = watched.say(.unreadable(error, ids))
      #expect(said == (ids == [6] ? [.log(.unreadable(error))] : []))
    }
    #expect(watched.say(.unreadable(error, [2, 6, 8])) == [.remove(2), .rejected(2, error)])
    #expect(watched.machine.targets.keys.sorted() == [4, 6])
    // What the server says of it until it has removed it does not count, and what it says of others does.
    #expect(watched.say(.document(F.document("a"), matching: [2])).isEmpty)
    #expect(watched.say(.targets(.current, [2, 4], resumeToken: [7])).isEmpty)
    let event = try watched.snapshot(at: 2)
    #expect(event.targets.keys.sorted() == [4] && event.documents.isEmpty)
    // The last one leaves the stream idle.
    _ = watched.machine.unlisten(6)
    #expect(watched.say(.unreadable(error, [4])) == [.remove(4), .idle, .rejected(4, error)])
  }

  @Test func `ends all targets when the server refuses without naming one`() throws {
    let error = StatusError(.permissionDenied, "no")
    var watched = try Watched()
    _ = watched.listen(WatchTarget(4, DocumentQuery(.group("d"), in: F.database).target))
    #expect(
      watched.say(.targets(.rejected(error), [])) == [.rejected(2, error), .rejected(4, error)])
    #expect(watched.machine.targets.isEmpty)
  }

  @Test func `keeps nothing of a target that nobody asked for`() {
    var aggregator = WatchAggregator(F.database)
    for id in 2...100 {
      for event: WatchChange.Event in [.added, .current, .reset, .noChange, .removed] {
        aggregator.take([.targets(event, [TargetID(id)], resumeToken: [1])], [:]) { _ in [] }
      }
    }
    #expect(aggregator.all.isEmpty)
  }

  @Test func `counts only what belongs to the listen there is now`() throws {
    var watched = try Watched(isAdded: false)
    let target = WatchTarget(2, try F.query().target)
    #expect(watched.machine.unlisten(2) == [.remove(2), .idle])
    #expect(watched.listen(target) == [.add(target)])
    // Answers to the first listen.
    #expect(watched.say(.targets(.added, [2])).isEmpty)
    #expect(watched.say(.document(F.document("a"), matching: [2])).isEmpty)
    #expect(watched.say(.targets(.removed, [2])).isEmpty)
    #expect(watched.say(.targets(.current, [2], resumeToken: [1])).isEmpty)
    #expect(try watched.snapshot(at: 1).targets.isEmpty == true)
    #expect(watched.say(.targets(.added, [2])).isEmpty)
    #expect(watched.say(.document(F.document("b"), matching: [2, 4])).isEmpty)
    let event = try watched.snapshot(at: 2)
    #expect(event.targets == [2: TargetChange(isCurrent: false, added: F.list("c/b"))])
    #expect(event.documents.count == 1)
    // Answers that nobody asked for change nothing.
    #expect(watched.say(.targets(.added, [2])).isEmpty)
    #expect(watched.say(.targets(.current, [2])).isEmpty)
    #expect(try watched.snapshot(at: 3).targets[2]?.isCurrent == true)
  }

  @Test func `is not heard of documents that are not where a target looks`() throws {
    let elsewhere = Document(F.path("x/a"), .found(.empty), version: F.time(1))
    let below = Document(F.path("c/a/d/a"), .found(.empty), version: F.time(1))
    var watched = try Watched()
    let group = WatchTarget(4, DocumentQuery(.group("d"), in: F.database).target)
    _ = watched.listen(group)
    _ = watched.say(.targets(.added, [4]))
    let said = watched.say(.document(elsewhere, matching: [2]))
    #expect(said.isEmpty == false)
    // The log is told once.
    #expect(watched.say(.document(elsewhere, matching: [4])).isEmpty)
    #expect(watched.say(.document(below, matching: [2, 4])).isEmpty)
    #expect(watched.say(.document(F.document("a"), matching: [2])).isEmpty)
    let event = try watched.snapshot(at: 2)
    #expect(event.documents.map(\.path) == [below.path, F.path("c/a")].sorted())
    #expect(event.targets[2]?.added == F.list("c/a") && event.targets[4]?.added == [below.path])
  }

  @Test func `takes a late refusal of an earlier listen for none of the one there is now`() throws {
    let error = StatusError(.permissionDenied, "no")
    let target = WatchTarget(2, try F.query().target)
    // The server answers the removal of what it refused, or does not.
    for answersRemoval in [true, false] {
      var watched = try Watched(isAdded: false)
      _ = watched.machine.unlisten(2)
      _ = watched.listen(target)
      #expect(watched.say(.targets(.rejected(error), [2])).isEmpty)
      #expect(watched.machine.targets[2] != nil)
      if answersRemoval { #expect(watched.say(.targets(.removed, [2])).isEmpty) }
      #expect(watched.say(.targets(.added, [2])).isEmpty)
      #expect(watched.say(.document(F.document("b"), matching: [2])).isEmpty)
      #expect(try watched.snapshot(at: 2).targets[2]?.added == F.list("c/b"))
      #expect(watched.say(.targets(.rejected(error), [2])) == [.rejected(2, error)])
    }
    // The server ended the first listen after it took it, and refuses the second one.
    var watched = try Watched()
    _ = watched.machine.unlisten(2)
    _ = watched.listen(target)
    #expect(watched.say(.targets(.rejected(error), [2])).isEmpty)
    #expect(watched.say(.targets(.rejected(error), [2])) == [.rejected(2, error)])
  }

  @Test func `is idle when all have left before it was open`() throws {
    var machine = WatchMachine(F.database)
    _ = machine.listen(WatchTarget(2, try F.query().target)) { _ in [] }
    #expect(machine.unlisten(2) == [.idle])
    #expect(machine.streamOpened { _ in [] } == [.idle])
  }

  @Test func `is forgotten of a document that came and went`() throws {
    var watched = try Watched()
    _ = watched.say(.document(F.document("a"), matching: [2]))
    _ = watched.say(.document(F.missing("a", version: 2), leaving: [2]))
    let event = try watched.snapshot(at: 3)
    #expect(event.targets[2]?.added == [] && event.targets[2]?.removed == [])
    #expect(event.document("c/a")?.state == .missing)
  }

  @Test func `that is reset tells as removed what does not come again`() throws {
    var watched = try Watched("c/a", "c/b")
    _ = watched.say(.targets(.current, [2], resumeToken: [1]))
    _ = watched.say(.targets(.reset, [2]))
    _ = watched.say(.document(F.document("b"), matching: [2]))
    let event = try watched.snapshot(at: 3)
    #expect(
      event.targets[2]
        == TargetChange(isCurrent: false, modified: F.list("c/b"), removed: F.list("c/a")))
  }

  @Test func `goes on where the store is`() throws {
    var watched = try Watched()
    _ = watched.say(.targets(.current, [2], resumeToken: [1]))
    _ = try watched.snapshot(at: 3)
    // This one is not stored.
    _ = watched.say(.targets(.noChange, [2], resumeToken: [2]))
    #expect(watched.say(.targets(.noChange, []), at: 4).count == 1)
    watched.matched[2] = F.paths("c/a")
    #expect(watched.machine.streamClosed() == [.openStream])
    var expected = WatchTarget(2, try F.query().target, resumeToken: [1], version: F.time(3))
    expected.expectedCount = 1
    #expect(watched.open() == [.add(expected)])
  }

  @Test func `is opened while there is something to listen to and the network may be used`() throws
  {
    var watched = try Watched()
    #expect(watched.machine.setEnabled(false).isEmpty)
    #expect(watched.say(.targets(.noChange, []), at: 4).isEmpty)
    let other = WatchTarget(4, try F.query(first: 1).target)
    #expect(watched.listen(other).isEmpty)
    #expect(watched.machine.setEnabled(true) == [.openStream])
    #expect(watched.machine.setEnabled(true).isEmpty)
    #expect(watched.open().count == 2)
    #expect(watched.machine.unlisten(2) == [.remove(2)])
    #expect(watched.machine.unlisten(4) == [.remove(4), .idle])
    #expect(watched.machine.unlisten(4).isEmpty)
    #expect(watched.machine.streamClosed().isEmpty)
  }

  @Test func `that refuses a target says so at once, and never again of it`() throws {
    var watched = try Watched()
    let error = StatusError(.permissionDenied, "no")
    #expect(watched.say(.targets(.rejected(error), [2, 8])) == [.rejected(2, error)])
    #expect(watched.say(.targets(.rejected(error), [2])).isEmpty)
    #expect(watched.machine.targets.isEmpty)
  }

  @Test func `tells a single document as missing when all was said without it`() throws {
    var watched = try Watched()
    let target = DocumentQuery(.document(F.path("c/z")), in: F.database).target
    _ = watched.listen(WatchTarget(1, target, .limboResolution))
    _ = watched.say(.targets(.added, [1]))
    #expect(try watched.snapshot(at: 1).documents.isEmpty == true)
    _ = watched.say(.targets(.current, [1]))
    let event = try watched.snapshot(at: 2)
    #expect(
      event.documents == [
        Document(F.path("c/z"), .missing, version: F.time(2), readTime: F.time(2))
      ])
    #expect(event.resolvedLimbo == F.paths("c/z"))
    // What a listen of the app asks for, too, is not limbo's alone.
    _ = watched.say(.document(F.document("z"), matching: [1, 2]))
    #expect(try watched.snapshot(at: 3).resolvedLimbo.isEmpty == true)
  }
}
