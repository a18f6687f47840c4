import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferTree
import Testing

@testable import Conifer

/// What becomes of a listen's cache when a commit fails.
@Suite struct RecoveryTests {
  enum Kind: String, CaseIterable, Sendable {
    case plain
    case filtered

    func target() throws -> QueryTarget {
      switch self {
      case .plain: QueryTarget("l")
      case .filtered: QueryTarget("l", try QuerySpec.default.limited(toLast: 2))
      }
    }

    var text: String {
      switch self {
      case .plain: #"{"a":1,"b":2,"c":4}"#
      case .filtered: #"{"b":2,"c":4}"#
      }
    }
  }

  /// What could not be stored of a listen.
  struct Failure: Sendable {
    let kind: Kind
    /// The edit without which commits do not fail; nil for any.
    let edit: String?

    static let all = Kind.allCases.flatMap { kind in
      [Failure(kind: kind, edit: "saveQuery"), Failure(kind: kind, edit: nil)]
    }
  }

  @Test(arguments: Store.durable, Failure.all)
  func `A listen whose first data could not be stored is cached with the next news`(
    _ store: Store, _ failure: Failure
  ) async throws {
    let kind = failure.kind
    let world = try World()
    world.serverSets("l", #"{"a":1,"b":2,"c":3}"#)
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    script.fail(.init(.full, "The disk is full: make room."), at: failure.edit)
    let target = try kind.target()
    device.listenToValue("l", target)
    await world.waitUntilIdle()
    script.fail(nil)
    world.serverSets("l/c", "4")
    await world.waitUntilIdle()
    #expect(device.lines.take().last == "l value \(kind.text)")
    await device.restart(isOnline: false)
    device.listenToValue("l", target)
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["l value \(kind.text)"])
  }

  @Test(arguments: Store.durable, Kind.allCases)
  func `News that are stored alone make nothing complete`(
    _ store: Store, _ kind: Kind
  ) async throws {
    let world = try World()
    world.serverSets("l", #"{"a":1,"b":2,"c":3}"#)
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    // The first data fails alone, and what comes behind it in the same commit does not.
    script.fail(.init(.full, "The disk is full: make room."), at: "saveQuery")
    device.transport.hold(.toClient)
    let target = try kind.target()
    device.listenToValue("l", target)
    await world.waitUntilIdle()
    world.serverSets("l/c", "4")
    await device.atOnce {
      device.transport.release()
      world.pump.run()
    }
    await world.waitUntilIdle()
    #expect(device.lines.take().last == "l value \(kind.text)")
    await device.restart(isOnline: false)
    device.listenToValue("l", target)
    await world.waitUntilIdle()
    #expect(device.lines.take().allSatisfy { $0 == "l value \(kind.text)" })
  }
}
