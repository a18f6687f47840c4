import ConiferDocument
import ConiferWire
import Testing

@testable import ConiferDocumentSync

@Suite struct `An existence filter` {
  private typealias F = Fixtures
  private static func names(_ ids: String...) -> [String] {
    ids.map { "projects/p/databases/(default)/documents/c/\($0)" }
  }

  @Test func `that fits changes nothing`() throws {
    var watched = try Watched("c/a", "c/b")
    _ = watched.say(.document(F.document("d"), matching: [2]))
    _ = watched.say(.left(F.path("c/a"), [2]))
    #expect(watched.say(.filter(2, count: 2), at: 3).count == 1)
    var other = try Watched("c/a")
    #expect(other.say(.filter(2, count: 1)).isEmpty)
    #expect(try other.snapshot(at: 3).mismatches.isEmpty == true)
  }

  @Test func `that does not fit has all documents asked for anew`() throws {
    var watched = try Watched("c/a", "c/b")
    _ = watched.say(.targets(.current, [2], resumeToken: [1]))
    _ = try watched.snapshot(at: 1)
    #expect(watched.say(.filter(2, count: 1)).isEmpty)
    let actions = watched.say(.targets(.noChange, []), at: 3)
    let target = try F.query().target
    #expect(
      Array(actions.prefix(2))
        == [.remove(2), .add(WatchTarget(2, target, .existenceFilterMismatch))])
    guard case .event(let event) = try #require(actions.last) else {
      Issue.record("no event")
      return
    }
    #expect(event.mismatches == [2: .existenceFilterMismatch])
    #expect(
      event.targets[2] == TargetChange(isCurrent: false, removed: F.list("c/a", "c/b")))
    watched.machine.stored(event)
    #expect(watched.machine.streamClosed() == [.openStream])
    #expect(watched.open() == [.add(WatchTarget(2, target))])
  }

  @Test func `with names tells which documents left`() throws {
    var watched = try Watched("c/a", "c/b", "c/e")
    let filter = BloomFilter(
      of: Self.names("a", "e"), bitCount: 128, hashCount: 5)
    #expect(watched.say(.filter(2, count: 2, filter)).isEmpty)
    let event = try watched.snapshot(at: 3)
    #expect(event.mismatches.isEmpty && event.targets[2]?.removed == F.list("c/b"))
    #expect(event.documents.isEmpty)
  }

  @Test func `with names that do not explain the number has all asked for anew`() throws {
    var watched = try Watched("c/a", "c/b", "c/e")
    let filter = BloomFilter(
      of: Self.names("a", "b", "e"), bitCount: 128, hashCount: 5)
    #expect(watched.say(.filter(2, count: 2, filter)).isEmpty)
    #expect(try watched.snapshot(at: 3).mismatches == [2: .existenceFilterMismatchBloom])
  }

  @Test func `of none has a single document forgotten`() throws {
    var watched = try Watched()
    let target = DocumentQuery(.document(F.path("c/z")), in: F.database).target
    _ = watched.listen(WatchTarget(4, target))
    watched.matched[4] = F.paths("c/z")
    _ = watched.say(.targets(.added, [4]))
    _ = watched.say(.filter(4, count: 1))
    #expect(try watched.snapshot(at: 1).documents.isEmpty == true)
    _ = watched.say(.filter(4, count: 0))
    let event = try watched.snapshot(at: 2)
    #expect(event.targets[4]?.removed == F.list("c/z"))
    #expect(event.document("c/z")?.version == .zero)
  }
}
