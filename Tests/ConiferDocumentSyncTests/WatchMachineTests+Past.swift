import ConiferDocument
import ConiferWire
import Testing

@testable import ConiferDocumentSync

/// A server whose time goes back: a replica that lags, or one that lost its last commits.
extension `The stream of listens` {
  private typealias F = Fixtures

  /// A server that does not know the tokens of targets.
  private func beginAnew(
    _ watched: inout Watched, _ targets: [TargetID] = [2], _ document: Document? = nil
  ) {
    _ = watched.say(.targets(.added, targets))
    _ = watched.say(.targets(.reset, targets))
    if let document { _ = watched.say(.document(document, matching: targets)) }
    _ = watched.say(.targets(.current, targets, resumeToken: [2]))
  }

  /// A stream whose server does not know the token of the time 9, and begins the target anew, with a document.
  private func begunAnew() throws -> Watched {
    var watched = try Watched()
    _ = watched.say(.targets(.current, [2], resumeToken: [1]))
    _ = try watched.snapshot(at: 9)
    _ = watched.machine.streamClosed()
    _ = watched.open()
    beginAnew(&watched, [2], F.document("a"))
    return watched
  }

  @Test func `is not heard of the past`() throws {
    var watched = try Watched()
    _ = try watched.snapshot(at: 9)
    #expect(watched.say(.document(F.document("a"), matching: [2])).isEmpty)
    // The log is told once.
    let said = watched.say(.targets(.noChange, []), at: 8)
    #expect(said.isEmpty == false)
    #expect(watched.say(.targets(.noChange, []), at: 8).isEmpty)
    // It counts with the next snapshot.
    #expect(try watched.snapshot(at: 9).documents.count == 1)
    // The store's moment counts on the next stream, too.
    #expect(watched.machine.streamClosed() == [.openStream])
    #expect(watched.open().count == 1)
    let later = watched.say(.targets(.noChange, []), at: 8)
    #expect(!later.contains { if case .event = $0 { true } else { false } })
  }

  @Test func `is heard of the past when the server knows none of the tokens`() throws {
    var watched = try begunAnew()
    let event = try watched.snapshot(at: 8)
    #expect(event.version == F.time(8) && event.targets[2]?.added == F.list("c/a"))
    // The next stream begins there.
    _ = watched.machine.streamClosed()
    #expect(watched.open().count == 1)
    _ = watched.say(.targets(.added, [2]))
    #expect(try watched.snapshot(at: 8).version == F.time(8))
  }

  @Test func `is not heard of the past by a replica that lags by less than a second`() throws {
    var watched = try begunAnew()
    let late = try Timestamp(microseconds: F.time(9).microseconds - 1000)
    let said = watched.machine.received(.targets(.noChange, []), version: late) { _ in [] }
    #expect(!said.contains { if case .event = $0 { true } else { false } })
    // It may also have lost its last commits: what it says next replaces what is newer.
    let event = try watched.snapshot(at: 9)
    #expect(event.targets[2]?.added == F.list("c/a") && event.serverTimeWentBack)
    #expect(try !watched.snapshot(at: 10).serverTimeWentBack)
  }

  /// A stream that goes on with the targets 2 and 4 from the time 9.
  private func resumed() throws -> Watched {
    var watched = try Watched()
    _ = watched.listen(WatchTarget(4, DocumentQuery(.group("d"), in: F.database).target))
    _ = watched.say(.targets(.added, [4]))
    _ = watched.say(.targets(.current, [2, 4], resumeToken: [1]))
    _ = try watched.snapshot(at: 9)
    _ = watched.machine.streamClosed()
    #expect(watched.open().count == 2)
    return watched
  }

  /// What a server shows of a target that leaves before its first snapshot.
  @Test(arguments: [true, false], [true, false])
  func `is not heard of the past by a server that went on with a target that has ended`(
    isCurrentFirst: Bool, isListenedAgain: Bool
  ) throws {
    var watched = try resumed()
    if isCurrentFirst { _ = watched.say(.targets(.current, [4])) }
    #expect(watched.machine.unlisten(4) == [.remove(4)])
    if isListenedAgain {
      _ = watched.listen(WatchTarget(4, DocumentQuery(.group("d"), in: F.database).target))
    }
    beginAnew(&watched)
    func isHeard(at seconds: Int64) -> Bool {
      watched.say(.targets(.noChange, []), at: seconds).contains {
        if case .event = $0 { true } else { false }
      }
    }
    // Whether it knew the token is not known before it has answered the removal.
    #expect(!isHeard(at: 7))
    _ = watched.say(.targets(.added, [4]))
    if !isCurrentFirst { _ = watched.say(.targets(.current, [4])) }
    _ = watched.say(.targets(.removed, [4]))
    #expect(!isHeard(at: 8))
    #expect(try !watched.snapshot(at: 9).serverTimeWentBack)
  }

  @Test(arguments: [true, false])
  func `is heard of the past when a target has ended of which the server said nothing`(
    isRefused: Bool
  ) throws {
    var watched = try resumed()
    if isRefused {
      let error = StatusError(.permissionDenied, "no")
      #expect(watched.say(.targets(.rejected(error), [4])) == [.rejected(4, error)])
    } else {
      #expect(watched.machine.unlisten(4) == [.remove(4)])
      _ = watched.say(.targets(.added, [4]))
      _ = watched.say(.targets(.removed, [4]))
    }
    beginAnew(&watched)
    #expect(try watched.snapshot(at: 8).version == F.time(8))
  }

  @Test func `is heard of the past when the server began a target anew that has ended`() throws {
    var watched = try resumed()
    #expect(watched.machine.unlisten(4) == [.remove(4)])
    beginAnew(&watched, [2, 4])
    #expect(try watched.snapshot(at: 8).version == F.time(8))
  }

  @Test
  func `is not heard of the past by a server that went on with a target and then began it anew`()
    throws
  {
    var watched = try resumed()
    _ = watched.say(.targets(.added, [2, 4]))
    _ = watched.say(.targets(.reset, [2]))
    _ = watched.say(.targets(.current, [4]))
    _ = watched.say(.targets(.reset, [4]))
    #expect(
      watched.say(.targets(.noChange, []), at: 7).allSatisfy {
        if case .log = $0 { true } else { false }
      })
    #expect(try !watched.snapshot(at: 9).serverTimeWentBack)
  }

  @Test func `asks for all anew ever more seldom while the server's time goes to and fro`() throws {
    var watched = try Watched("c/a")
    var asked: [Int] = []
    for round in 1...100 {
      _ = watched.say(.targets(.current, [2], resumeToken: [1]))
      _ = try watched.snapshot(at: 100_000)
      let actions = watched.say(.targets(.noChange, []), at: 9)
      guard case .event(let event)? = actions.last else { continue }
      asked.append(round)
      watched.machine.stored(event)
      _ = watched.say(.targets(.removed, [2]))
      _ = watched.say(.targets(.added, [2]))
    }
    #expect(asked == [1, 3, 7, 15, 31, 63])
  }

  /// How many snapshots are taken in between that of the third step back and the next one of the past.
  @Test(arguments: [62, 63])
  func `asks for all anew at once after a long time without a step back`(taken: Int) throws {
    var watched = try Watched("c/a")
    _ = watched.say(.targets(.current, [2], resumeToken: [1]))
    var asked: [Int] = []
    for round in 1...15 {
      _ = try watched.snapshot(at: 100_000)
      for _ in 1..<(round == 8 ? taken : 1) { _ = try watched.snapshot(at: 100_000) }
      for case .event(let event) in watched.say(.targets(.noChange, []), at: 9) {
        asked.append(round)
        watched.machine.stored(event)
        _ = watched.say(.targets(.removed, [2]))
        _ = watched.say(.targets(.added, [2]))
      }
    }
    #expect(asked == (taken < 63 ? [1, 3, 7, 15] : [1, 3, 7, 8, 10, 14]))
  }

  @Test func `asks for all anew when the server's time went back by far`() throws {
    var watched = try Watched("c/a")
    _ = watched.say(.targets(.current, [2], resumeToken: [1]))
    _ = try watched.snapshot(at: 100_000)
    let actions = watched.say(.targets(.noChange, []), at: 9)
    let target = WatchTarget(2, try F.query().target)
    #expect(actions.contains(.remove(2)) && actions.contains(.add(target)))
    guard case .event(let event)? = actions.last else {
      Issue.record("Nobody is told.")
      return
    }
    #expect(event.targets[2] == TargetChange(isCurrent: false, removed: F.list("c/a")))
    watched.machine.stored(event)
    _ = watched.say(.targets(.removed, [2]))
    _ = watched.say(.targets(.added, [2]))
    _ = watched.say(.targets(.current, [2], resumeToken: [2]))
    #expect(try watched.snapshot(at: 10).targets[2]?.isCurrent == true)
  }
}
