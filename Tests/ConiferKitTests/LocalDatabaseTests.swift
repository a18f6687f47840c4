import ConiferKit
import ConiferServer
import ConiferStorage
import ConiferTree
import Foundation
import Logging
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A database without a server is complete: its own store is the authority.
@Suite(.timeLimit(.minutes(10))) struct `A database without a server` {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  private func open(_ change: (inout DatabaseConfiguration) -> Void = { _ in }) -> Database {
    var configuration = DatabaseConfiguration.local(storage: .sqlite(at: scratch.store))
    configuration.logger.logLevel = .critical
    change(&configuration)
    return Database(configuration)
  }

  private func node(_ path: String, in database: Database) async throws -> Node {
    try await database.reference(withPath: path).getData().node
  }

  private func code(_ body: () async throws(DatabaseError) -> Void) async -> DatabaseError.Code? {
    do throws(DatabaseError) {
      try await body()
      return nil
    } catch { return error.code }
  }

  @Test func `observers get the value, and reads answer`() async throws {
    let database = open()
    let room = database.reference(withPath: "rooms/r1")
    var seen: [Node] = []
    for try await snapshot in room.snapshots {
      seen.append(snapshot.node)
      if seen.count == 1 { room.child("name").enqueue(.set("Attic")) }
      if seen.count == 2 { break }
    }
    #expect(seen == [.empty, ["name": "Attic"]])
    #expect(try await node("rooms/r1", in: database) == ["name": "Attic"])
    #expect(try await !database.reference(withPath: "nobody").getData().exists())
    await database.close()
  }

  @Test func `queries, transactions, priorities and server values are as with a server`()
    async throws
  {
    let database = open()
    let rooms = database.reference(withPath: "rooms")
    try await rooms.setValue(["r1": ["seats": 4], "r2": ["seats": 2], "r3": ["seats": 9]])
    let large = try await rooms.queryOrdered(byChild: "seats").queryStarting(atValue: 3).getData()
    #expect(large.children.map(\.key) == ["r1", "r3"])
    let seats = rooms.child("r2/seats")
    let (isCommitted, _) = try await seats.runTransactionBlock { data in
      data.value = (data.value as? Int ?? 0) + 1
      return .success(withValue: data)
    }
    #expect(isCommitted)
    try await seats.setPriority("high")
    try await rooms.child("r1").updateChildValues([
      "edited": Conifer.ServerValue.timestamp(), "seats": Conifer.ServerValue.increment(2),
    ])
    #expect(try await seats.getData().node == Node(3, priority: "high"))
    let room = try await node("rooms/r1", in: database)
    #expect(room[Key("seats")] == 6)
    #expect(room[Key("edited")].leaf?.number ?? 0 > 1.7e12)
    await database.close()
  }

  @Test func `onDisconnect operations run when it goes offline, is suspended and is closed`()
    async throws
  {
    let database = open()
    let online = database.reference(withPath: "online")
    func comeOnline() async throws {
      try await online.onDisconnectSetValue("gone")
      try await online.setValue("here")
      #expect(try await online.getData().node == "here")
    }
    try await comeOnline()
    database.goOffline()
    database.goOnline()
    #expect(try await online.getData().node == "gone")
    try await comeOnline()
    try await database.suspend()
    try await database.resume()
    #expect(try await online.getData().node == "gone")
    try await comeOnline()
    await database.close()
    let again = open()
    #expect(try await node("online", in: again) == "gone")
    await again.close()
  }

  @Test(arguments: [true, false])
  func `what waits when it is closed is kept, offline too`(_ isOnline: Bool) async throws {
    let database = open()
    if !isOnline { database.goOffline() }
    for number in 0..<20 { database.reference(withPath: "n/\(number)").enqueue(.set(number)) }
    await database.close()
    let again = open()
    #expect(try await node("n", in: again).childCount == 20)
    #expect(try await again.pendingWriteTotals().pending == 0)
    await again.close()
  }

  @Test func `a second opener is told that the store is busy, until the first is closed`()
    async throws
  {
    let first = open()
    try await first.reference(withPath: "a").setValue(1)
    let second = open()
    #expect(
      await code { () throws(DatabaseError) in
        _ = try await second.reference(withPath: "a").getData()
      } == .storageBusy)
    await second.close()
    #expect(try await node("a", in: first) == 1)
    await first.close()
    let third = open()
    #expect(try await node("a", in: third) == 1)
    await third.close()
  }

  @Test func `suspended, it holds no lock, and shows what another opener wrote meanwhile`()
    async throws
  {
    let database = open()
    let place = database.reference(withPath: "a")
    place.keepSynced(true)
    database.goOffline()
    place.enqueue(.set(1))
    try await database.suspend()
    #if canImport(Glibc)
      #expect(try FileLocks.lasting(under: scratch.store).isEmpty)
    #endif
    let other = open()
    #expect(try await node("a", in: other) == 1)
    try await other.reference(withPath: "a").setValue(2)
    #expect(await code { () throws(DatabaseError) in try await database.resume() } == .storageBusy)
    let receipt = database.reference(withPath: "b").enqueue(.set(3))
    await other.close()
    try await database.resume()
    #expect(!database.isConnected)
    database.goOnline()
    try await receipt.acknowledged()
    #expect(try await node("", in: database) == ["a": 2, "b": 3])
    await database.close()
  }

  @Test func `closed while it is suspended, it has what was accepted`() async throws {
    let database = open()
    database.reference(withPath: "a").enqueue(.set(1))
    try await database.suspend()
    let late = database.reference(withPath: "a").enqueue(.set(2))
    await database.close()
    #expect(await code { () throws(DatabaseError) in try await late.acknowledged() } == .closed)
    let again = open()
    #expect(try await node("a", in: again) == 1)
    await again.close()
  }

  @Test func `without persistence it is complete too, and keeps no files`() async throws {
    let database = open { $0.isPersistenceEnabled = false }
    try await database.reference(withPath: "a").setValue(1)
    #expect(try await node("a", in: database) == 1)
    #expect(!FileManager.default.fileExists(atPath: scratch.store))
    await database.close()
  }

  @Test func `what is in it is brought to a server, also after it was opened again`() async throws {
    let first = open()
    try await first.reference(withPath: "rooms").setValue(["r1": ["name": "Attic"], "r2": 2])
    await first.close()
    let server = Server()
    server.set("rooms/r2", 9, in: "app")
    let local = open()
    let online = Database(DatabaseConfiguration(namespace: "app", transport: server.transport()))
    let shown = Gathered<String>()
    let result = try await LocalSamples.bringToServer(local, online) { shown.add($0) }
    #expect(result.copied == 1 && result.kept == 1)
    #expect(shown.all == ["2 of 2"])
    #expect(server.data(in: "app") == ["rooms": ["r1": ["name": "Attic"], "r2": 9]])
    await local.close()
    await online.close()
  }

  @Test func `a transport beside it is a mistake, which is put right`() async throws {
    #expect(throws: Never.self) { try DatabaseConfiguration.local().validate() }
    let server = Server()
    let database = open { configuration in
      configuration.transport = server.transport()
      let mistaken = configuration
      #expect(throws: DatabaseError.self) { try mistaken.validate() }
    }
    try await database.reference(withPath: "a").setValue(1)
    #expect(server.data(in: "default").isEmpty)
    await database.close()
  }
}

/// The app's common database without a server, in processes of their own.
@Suite(.timeLimit(.minutes(10))) struct `An app without a server` {
  @Test func `killed and started again, it has what it was told is written`() async throws {
    let home = FileManager.default.temporaryDirectory
      .appendingPathComponent("conifer-kit-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    await #expect(processExitsWith: .signal(SIGKILL)) { [home = home as String] in
      let database = Self.database(home)
      for number in 0..<50 {
        try await database.reference(withPath: "n/\(number)").setValue(number)
      }
      kill(getpid(), SIGKILL)
    }
    await #expect(processExitsWith: .success) { [home = home as String] in
      let database = Self.database(home)
      let kept = try await database.reference(withPath: "n").getData()
      #expect(kept.childrenCount == 50)
      await database.close()
    }
  }

  @Test
  func `the first program of the README says what it has stored, and again when it is run again`()
    throws
  {
    let home = FileManager.default.temporaryDirectory
      .appendingPathComponent("conifer-kit-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: home) }
    for _ in 0..<2 {
      let program = try RunningProgram(
        try #require(BuiltProgram.path(of: "FirstApp")),
        environment: ["XDG_DATA_HOME": home.path, "HOME": home.path], output: .read)
      let told = try program.readToEnd()
      #expect(program.waitForEnd() == .exited(0))
      #expect(told.contains(#"Stored: ["name": "Attic"]"#))
    }
  }

  private static func database(_ home: String) -> Database {
    setenv("XDG_DATA_HOME", home, 1)
    setenv("HOME", home, 1)
    Database.configure(.local())
    return Database.database()
  }
}
