import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferSync

/// What becomes of those who wait when the database is closed.
@Suite struct ClosingTests {
  @Test(arguments: Store.allCases)
  func `All who wait are told that the database was closed`(_ store: Store) async throws {
    let world = try World()
    let device = world.device(store)
    // The server says nothing; an app that is offline would wait for no read.
    device.transport.hold()
    device.listenToValue("a", QueryTarget("a"))
    let receipt = device.set("w", "1", "w")
    device.add(1, at: "n", "t")
    device.get("g", QueryTarget("g"))
    device.engine.onDisconnect(.put("gone", json("true"))) { [lines = device.lines] error in
      lines.add("onDisconnect \(error.map { "\($0.code)" } ?? "done")")
    }
    let id = try #require(try await receipt.id)
    let waiter = Task { [engine = device.engine] in
      await failure { _ = try await engine.outcome(of: id) }
    }
    await world.waitUntilIdle()
    await device.engine.close()
    await device.idle()
    #expect(
      Set(device.lines.take()) == [
        "a cancel closed", "w closed", "t closed null", "g closed", "onDisconnect closed",
      ])
    #expect(await waiter.value?.code == .closed)
    #expect(await failure { _ = try await receipt.outcome }?.code == .closed)

    device.listenToValue("late", QueryTarget("a"))
    device.listenToValue("late", QueryTarget(Path([.info, "connected"])))
    device.set("w", "2", "late")
    await device.idle()
    #expect(device.lines.take() == ["late cancel closed", "late cancel closed", "late closed"])
  }

  @Test(arguments: Store.allCases)
  func `A purge that fails loses nothing, and tells those who waited elsewhere`(
    _ store: Store
  ) async throws {
    let world = try World()
    let script = ScriptedBackend.Script()
    let device = world.device(store) {
      $0.storage = $0.storage.map { ScriptedBackend.configuration($0, script) }
    }
    await world.waitUntilIdle()
    device.engine.goOffline()
    for number in 1...3 { device.set("a", "\(number)", "w\(number)") }
    device.engine.onDisconnect(.put("gone", json("true"))) { [lines = device.lines] error in
      lines.add("onDisconnect \(error.map { "\($0.code)" } ?? "done")")
    }
    await device.idle()
    script.fail(StoreError(.full, "The disk is full: make room."))
    device.engine.purge()
    await device.idle()
    script.fail(nil)
    #expect(device.lines.take() == ["onDisconnect write-canceled"])
    device.engine.goOnline()
    await world.waitUntilIdle()
    #expect(device.lines.take() == ["w1 done", "w2 done", "w3 done"])
    #expect(world.data("a") == json("3"))
  }

  @Test func `Who asks for states of a closed database is told the last one, and no more`()
    async throws
  {
    let world = try World()
    let device = world.device(.memory)
    await world.waitUntilIdle()
    await device.engine.close()
    let (connected, lines) = (device.engine.isConnected, device.lines)
    let reader = Task {
      for await isConnected in connected.values { lines.add("connected \(isConnected)") }
      lines.add("end")
    }
    try await eventually("The states do not end.") { lines.all.contains("end") }
    #expect(lines.all == ["connected false", "end"])
    reader.cancel()
  }
}
