import ConiferDocument
import ConiferWire
import Testing

@testable import ConiferDocumentSync

@Suite struct `The queue of documents in limbo` {
  private typealias F = Fixtures

  private static func listen(_ id: TargetID, _ path: String) -> LimboAction {
    let target = DocumentQuery(.document(F.path(path)), in: F.database).target
    return .listen(WatchTarget(id, target, .limboResolution))
  }

  @Test func `listens to some at once, to the others in order, with odd targets`() {
    var queue = LimboQueue(F.database, limit: 2)
    let three = F.paths("c/b", "c/c", "c/a")
    #expect(
      queue.viewChanged(2, into: three, outOf: [])
        == [Self.listen(1, "c/a"), Self.listen(3, "c/b")])
    #expect(queue.waitingPaths == [F.path("c/c")])
    #expect(queue.viewChanged(4, into: F.paths("c/d", "c/c"), outOf: []).isEmpty)
    #expect(queue.waitingPaths == [F.path("c/c"), F.path("c/d")])
    #expect(
      queue.viewChanged(2, into: [], outOf: F.paths("c/a"))
        == [.unlisten(1), Self.listen(5, "c/c")])
    #expect(queue.document(of: 5) == F.path("c/c") && queue.document(of: 1) == nil)
    #expect(queue.activeTargets == [F.path("c/b"): 3, F.path("c/c"): 5])
  }

  @Test func `keeps a document while any view has it in limbo`() {
    var queue = LimboQueue(F.database, limit: 1)
    #expect(queue.viewChanged(2, into: F.paths("c/a"), outOf: []).count == 1)
    #expect(queue.viewChanged(4, into: F.paths("c/a"), outOf: []).isEmpty)
    #expect(queue.viewChanged(4, into: F.paths("c/b"), outOf: []).isEmpty)
    #expect(queue.viewEnded(2).isEmpty)
    #expect(queue.viewEnded(4) == [.unlisten(1)])
    #expect(queue.waitingPaths.isEmpty && queue.activeTargets.isEmpty)
    #expect(queue.viewEnded(4).isEmpty)
  }

  @Test func `puts a document that waited before at the end`() {
    var queue = LimboQueue(F.database, limit: 1)
    _ = queue.viewChanged(2, into: F.paths("c/a", "c/b", "c/c"), outOf: [])
    #expect(queue.viewChanged(2, into: [], outOf: F.paths("c/b")).isEmpty)
    #expect(queue.viewChanged(2, into: F.paths("c/b"), outOf: []).isEmpty)
    #expect(queue.waitingPaths == [F.path("c/c"), F.path("c/b")])
    #expect(
      queue.viewChanged(2, into: [], outOf: F.paths("c/a"))
        == [.unlisten(1), Self.listen(3, "c/c")])
  }

  @Test func `forgets a document that the server refuses to tell`() throws {
    var queue = LimboQueue(F.database, limit: 1)
    _ = queue.viewChanged(2, into: F.paths("c/a", "c/b"), outOf: [])
    #expect(queue.refusal(of: 2) == nil)
    let event = try #require(queue.refusal(of: 1))
    #expect(event.version == .zero && event.resolvedLimbo == F.paths("c/a"))
    #expect(event.documents == [Document(F.path("c/a"), .missing)])
    #expect(queue.refused(1) == [Self.listen(3, "c/b")])
    // The view drops it: nothing is listened to any more that could be ended.
    #expect(queue.viewChanged(2, into: [], outOf: F.paths("c/a")).isEmpty)
  }

  @Test func `knows which documents the server found`() {
    var queue = LimboQueue(F.database)
    _ = queue.viewChanged(2, into: F.paths("c/a"), outOf: [])
    #expect(queue.matched(1) == [] && queue.matched(2) == nil)
    func event(_ change: TargetChange) -> RemoteEvent {
      RemoteEvent(version: F.time(1), targets: [1: change])
    }
    queue.stored(event(TargetChange(isCurrent: false, added: F.list("c/a"))))
    #expect(queue.matched(1) == F.paths("c/a"))
    queue.stored(event(TargetChange(isCurrent: true, modified: F.list("c/a"))))
    #expect(queue.matched(1) == F.paths("c/a"))
    queue.stored(event(TargetChange(isCurrent: true, removed: F.list("c/a"))))
    #expect(queue.matched(1) == [])
  }
}
