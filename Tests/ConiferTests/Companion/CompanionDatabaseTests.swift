import ConiferKeyValue
import ConiferTree
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferStorage

#if Encryption
  import ConiferEncryption
#endif

/// A process beside the app reads its store and leaves writes for it; here both are one process, which has the store
/// open only once at a time.
@Suite(.timeLimit(.minutes(10))) final class CompanionDatabaseTests {
  private let scratch: Scratch
  private let signIn = SignIn()

  init() throws { scratch = try Scratch() }

  deinit { Directory.remove(scratch.path) }

  private func configuration(
    _ store: Store = .sqlite, withUsers: Bool = false
  ) -> DatabaseConfiguration {
    var configuration = DatabaseConfiguration(
      namespace: "app", storage: store.configuration(at: scratch.store))
    configuration.logger.logLevel = .critical
    if withUsers { configuration.tokenProvider = signIn }
    return configuration
  }

  private var mailbox: Mailbox { Mailbox(of: scratch.store) }
  private func files() -> [String] { Scratch.names(scratch.store + ".mail") }

  /// The waiting writes, in their order.
  private func pending(_ database: Database) async throws -> [String] {
    try await database.pendingWrites().map { "\($0.path)" }
  }

  private func code(_ body: () throws(DatabaseError) -> Void) -> DatabaseError.Code? {
    do throws(DatabaseError) {
      try body()
      return nil
    } catch { return error.code }
  }

  @Test func `Writes are taken once when the app opens its database, in their order`() async throws
  {
    for store in Store.durable where store != .journal {
      defer { Directory.remove(scratch.store) }
      let companion = CompanionDatabase(configuration(store))
      try companion.setValue("Attic", at: "rooms/r1/name", as: "")
      try companion.updateChildValues(["a": 1, "b/c": NSNull()], at: "rooms/r2", as: "")
      try companion.removeValue(at: "old", as: "")
      try companion.setValue(2, at: "rooms/r1/size", as: "")
      #expect(files().count == 4)
      let database = Database(configuration(store))
      #expect(try await database.takeMail() == MailReport())
      let paths = try await pending(database)
      #expect(paths == ["/rooms/r1/name", "/rooms/r2", "/old", "/rooms/r1/size"], "\(store)")
      #expect(
        try await database.reference(withPath: "rooms/r1/size").getData(policy: .cache).value
          as? Int == 2)
      #expect(files().isEmpty)
      await database.close()
      let again = Database(configuration(store))
      #expect(try await again.takeMail() == MailReport())
      #expect(try await pending(again) == paths)
      try companion.setValue(3, at: "later", as: "")
      #expect(try await again.takeMail().taken == 1)
      try await again.suspend()
      try companion.setValue(4, at: "last", as: "")
      try await again.resume()
      #expect(try await again.takeMail().taken == 0)
      #expect(try await pending(again).suffix(2) == ["/later", "/last"])
      let backend = try await again.engine.storage().backend
      let names = try backend.read { (view) throws(StoreError) in
        try view.metadataNames(try view.trees()[0].id, after: nil, limit: 100)
      }
      #expect(!names.contains { $0.hasPrefix("conifer.mail") }, "\(names)")
      await again.close()
    }
  }

  @Test func `Writes wait for their user`() async throws {
    let setup = configuration(withUsers: true)
    let companion = CompanionDatabase(setup)
    try companion.setValue(1, at: "of/ann", as: "ann")
    try companion.setValue(2, at: "of/ben", as: "ben")
    try companion.setValue(3, at: "of/ann", as: "ann")
    signIn.set("ann")
    let database = Database(setup)
    var report = try await database.takeMail()
    #expect(report.waiting == 1 && report.waitingForOtherUsers == 1 && report.setAside == 0)
    #expect(try await pending(database) == ["/of/ann", "/of/ann"])
    signIn.set("ben")
    database.tokenDidChange()
    report = try await database.takeMail()
    #expect(report.waiting == 0)
    #expect(try await pending(database) == ["/of/ben"])
    #expect(files().isEmpty)
    await database.close()
    #expect(try companion.getData(at: "of/ben", of: "ben").value as? Int == 2)
    #expect(try companion.getData(at: "of/ann", of: "ann").value as? Int == 3)
    #expect(try companion.getData(at: "of/ann").value == nil)
    companion.close()
  }

  @Test func `The user whom the store knows is meant where none is named`() async throws {
    let setup = configuration(withUsers: true)
    let companion = CompanionDatabase(setup)
    let backend = try setup.effectiveStorage.open()
    let tree = try await backend.tree(named: "app")
    let token = (["token": "t", "identity": "ben"] as Node).json()
    let lane = Lane(tree: tree, identity: "ben")
    _ = try await backend.commit(
      [.setMetadata(tree, "conifer.token", token), .enqueue(lane, .set("of/ben", 1))])
    try await backend.close()
    try companion.setValue(2, at: "of/ben")
    #expect(try companion.getData(at: "of/ben").value as? Int == 1)
    companion.close()
    let database = Database(setup)
    #expect(try await database.takeMail().waiting == 0)
    #expect(try await pending(database) == ["/of/ben", "/of/ben"])
    await database.close()
  }

  @Test func `Who is not known to be signed in has to be named`() async throws {
    let setup = configuration(withUsers: true)
    let companion = CompanionDatabase(setup)
    // There is no store yet.
    #expect(
      code { () throws(DatabaseError) in try companion.setValue(1, at: "x") }
        == .invalidConfiguration)
    let backend = try setup.effectiveStorage.open()
    let tree = try await backend.tree(named: "app")
    func store(_ edits: [StorageEdit]) async throws {
      companion.close()
      _ = try await backend.commit(edits)
      try await backend.suspend()
    }
    let token = (["token": "t", "identity": "ben"] as Node).json()
    func named(_ user: String) -> StorageEdit {
      .setMetadata(tree, "conifer.user", Bytes(user.utf8))
    }
    let states: [([StorageEdit], String?)] = [
      ([], nil),
      // As earlier versions store it.
      ([.setMetadata(tree, "conifer.token", token)], "ben"),
      ([.setMetadata(tree, "conifer.change", [1])], nil),
      (["conifer.token", "conifer.change"].map { .setMetadata(tree, $0, nil) }, nil),
      ([named("ann")], "ann"),
      ([named("")], ""),
      ([named("ann"), .setMetadata(tree, "conifer.change", [1])], nil),
    ]
    var expected: [String] = []
    for (number, (edits, user)) in states.enumerated() {
      if number > 0 { try await backend.resume() }
      try await store(edits)
      // A companion of an app without a token provider knows no more.
      let asked = number % 2 == 0 ? companion : CompanionDatabase(configuration())
      let found = code { () throws(DatabaseError) in try asked.setValue(1, at: "x") }
      #expect(found == (user == nil ? .invalidConfiguration : nil), "\(number)")
      if let user { expected.append(user) }
      #expect(users() == expected)
      asked.close()
    }
    try await backend.close()
    try companion.setValue(3, at: "x", as: "")
    try companion.setValue(3, at: "x", as: "ben")
    #expect(users() == expected + ["", "ben"])
    companion.close()
  }

  /// For whom mails are, in their order.
  private func users() -> [String] {
    files().compactMap {
      if case .of(let address) = mailbox.holder(of: $0) { address.identity } else { nil }
    }
  }

  @Test func `Who signs in, out and in again offline is the one whose writes a companion leaves`()
    async throws
  {
    for store in Store.durable where store != .journal {
      defer {
        Directory.remove(scratch.store)
        Directory.remove(scratch.store + ".mail")
      }
      // As in the guide: it knows no token provider.
      let companion = CompanionDatabase(configuration(store))
      let database = Database(configuration(store, withUsers: true))
      for (number, user) in (["ann", "ben", nil, "ann"] as [String?]).enumerated() {
        signIn.set(user)
        if number > 0 { database.tokenDidChange() }
        try await database.takeMail()
        try await database.suspend()
        try companion.setValue(number, at: "x")
        companion.close()
        #expect(users() == [user ?? ""], "\(store)")
        try await database.resume()
        #expect(try await database.takeMail().waiting == 0)
      }
      // It may be somebody else by now.
      signIn.hold()
      database.tokenDidChange()
      await signIn.waits(for: 1)
      try await database.suspend()
      #expect(
        code { () throws(DatabaseError) in try companion.setValue(1, at: "x") }
          == .invalidConfiguration)
      companion.close()
      signIn.releaseAll()
      await database.close()
    }
  }

  @Test(arguments: [true, false])
  func `A provider that fails at a later start leaves who is signed in`(keepsToken: Bool)
    async throws
  {
    let companion = CompanionDatabase(configuration())
    var setup = configuration(withUsers: true)
    setup.keepsLastToken = keepsToken
    for user in ["ann", "ben"] {
      signIn.set(user)
      let database = Database(setup)
      try await database.takeMail()
      await database.close()
    }
    for number in 1...2 {
      signIn.fail()
      let database = Database(setup)
      // It is nobody's until the provider answers.
      try await database.takeMail()
      await database.close()
      try companion.setValue(number, at: "x")
      companion.close()
      #expect(users() == Array(repeating: "ben", count: number))
    }
    signIn.set(nil)
    let database = Database(setup)
    try await database.takeMail()
    await database.close()
    try companion.setValue(1, at: "y")
    companion.close()
    #expect(users() == ["ben", "ben", ""])
  }

  @Test func `An app that asks nobody any more ends a change of its user`() async throws {
    let setup = configuration()
    let backend = try setup.effectiveStorage.open()
    let tree = try await backend.tree(named: "app")
    _ = try await backend.commit([
      .setMetadata(tree, "conifer.user", Bytes("ann".utf8)),
      .setMetadata(tree, "conifer.change", [1]),
    ])
    try await backend.close()
    let database = Database(setup)
    try await database.takeMail()
    await database.close()
    let companion = CompanionDatabase(setup)
    try companion.setValue(1, at: "x")
    companion.close()
    #expect(users() == [""])
  }

  @Test func `A file in the mailbox's place keeps no purge, and no write is left in it`()
    async throws
  {
    let database = Database(configuration())
    _ = try await database.reference(withPath: "queued").setValue(1).id
    Scratch.write([1], mailbox.directory)
    #expect(try await database.takeMail() == MailReport())
    database.purgeOutstandingWrites()
    #expect(try await pending(database) == [])
    let companion = CompanionDatabase(configuration())
    #expect(
      code { () throws(DatabaseError) in try companion.setValue(1, at: "x", as: "") } != nil)
    #expect(Scratch.read(mailbox.directory) == [1])
    Directory.remove(mailbox.directory)
    await database.close()
  }

  @Test func `Nobody is signed in where the app has no token provider, once it has said so`()
    async throws
  {
    for store in Store.durable where store != .journal {
      defer {
        Directory.remove(scratch.store)
        Directory.remove(scratch.store + ".mail")
      }
      let companion = CompanionDatabase(configuration(store))
      #expect(
        code { () throws(DatabaseError) in try companion.setValue(1, at: "x") }
          == .invalidConfiguration)
      let database = Database(configuration(store))
      try await database.takeMail()
      await database.close()
      try companion.setValue(1, at: "x")
      companion.close()
      #expect(users() == [""])
    }
  }

  @Test
  func `What was left for somebody who is gone waits and is counted until the app removes it`()
    async throws
  {
    let setup = configuration(withUsers: true)
    let companion = CompanionDatabase(setup)
    for (number, user) in ["ann", "", "ben", "ben"].enumerated() {
      try companion.setValue(number, at: "n\(number)", as: user)
    }
    var other = setup
    other.namespace = "another"
    try CompanionDatabase(other).setValue(1, at: "x", as: "ben")
    signIn.set("cleo")
    let database = Database(setup)
    var report = try await database.takeMail()
    #expect(report == MailReport(waiting: 5, ofOtherUsers: 4))
    #expect(try await pending(database) == [])
    try await database.discardMail(of: "ben")
    report = try await database.takeMail()
    #expect(report == MailReport(waiting: 3, ofOtherUsers: 2))
    // Who signs out is nobody, and takes what was left for nobody.
    signIn.set(nil)
    database.tokenDidChange()
    _ = try await database.takeMail()
    #expect(try await pending(database) == ["/n1"])
    try await database.discardMail()
    report = try await database.takeMail()
    #expect(report == MailReport(waiting: 1, ofOtherUsers: 0))
    #expect(try await pending(database) == ["/n1"])
    await database.close()
    await #expect(throws: DatabaseError.self) { try await database.discardMail() }
    #expect(files().count == 1)
  }

  @Test func `A purge that the store refuses leaves the mails too`() async throws {
    let script = ScriptedBackend.Script()
    var setup = configuration()
    setup.storage = setup.storage.map { ScriptedBackend.configuration($0, script) }
    let database = Database(setup)
    _ = try await database.reference(withPath: "queued").setValue(1).id
    try CompanionDatabase(configuration()).setValue(1, at: "left", as: "")
    script.fail(StoreError(.full, "The disk is full: make room."))
    database.purgeOutstandingWrites()
    _ = try await database.pendingWriteTotals()
    script.fail(nil)
    #expect(files().count == 1)
    try await database.takeMail()
    #expect(try await pending(database) == ["/queued", "/left"])
    database.purgeOutstandingWrites()
    #expect(try await pending(database) == [])
    await database.close()
  }

  @Test func `A purge that is made though it was called a failure gives up the mails too`()
    async throws
  {
    let script = ScriptedBackend.Script()
    var setup = configuration()
    setup.storage = setup.storage.map { ScriptedBackend.configuration($0, script) }
    let database = Database(setup)
    _ = try await database.reference(withPath: "queued").setValue(1).id
    try await database.takeMail()
    try CompanionDatabase(configuration()).setValue(1, at: "left", as: "")
    script.doubt(isMade: true, isBlind: false)
    database.purgeOutstandingWrites()
    _ = try await database.pendingWriteTotals()
    // It is no part of what was given up.
    try CompanionDatabase(configuration()).setValue(1, at: "later", as: "")
    script.heal()
    try await database.takeMail()
    #expect(try await pending(database) == ["/later"])
    #expect(files() == [])
    await database.close()
  }

  /// A layer that stands for encryption, and does nothing.
  private final class Layer: StoreLayer {
    func open(
      over store: any OrderedStore, _ layout: RecordLayout
    ) throws(StoreError) -> any OrderedStore { store }
  }

  @Test func `Nothing is left in the clear beside an encrypted store`() throws {
    var setup = configuration()
    setup.options.encryption = Layer()
    let companion = CompanionDatabase(setup)
    #expect(
      code { () throws(DatabaseError) in try companion.setValue(1, at: "x", as: "") }
        == .invalidConfiguration)
    #expect(Scratch.names(scratch.path) == [])
  }

  @Test func `What lies in the clear is not taken into an encrypted store, and this is told`()
    async throws
  {
    try CompanionDatabase(configuration()).setValue(1, at: "x", as: "")
    var setup = configuration()
    setup.options.encryption = Layer()
    let database = Database(setup)
    let error = await #expect(throws: DatabaseError.self) { try await database.takeMail() }
    #expect(error?.code == .storageFailure)
    #expect(error?.message.contains("encrypted") == true && files().count == 1)
    #expect(try await pending(database) == [])
    // Also where there is more than a mail: one of another database in the store, and what is nobody's.
    var other = configuration()
    other.namespace = "another"
    let sender = MailSender(mailbox)
    let payload = WriteContent.set("x", 1).payload
    try sender.send(Mail(tree: "another", identity: "", payload: payload), at: 1_000)
    Scratch.write([1], mailbox.directory + "/" + Mailbox.name(9, of: 9))
    _ = try Directory.make(mailbox.directory + "/" + Mailbox.name(10, of: 9))
    try await database.discardMail()
    #expect(try await database.takeMail() == MailReport())
    #expect(users() == [""] && files().count == 1)
    await database.close()
    other.options.encryption = setup.options.encryption
    let second = Database(other)
    await #expect(throws: DatabaseError.self) { try await second.takeMail() }
    try await second.discardMail()
    #expect(try await second.takeMail() == MailReport())
    #expect(files() == [])
    await second.close()
  }

  @Test func `All mails are removed with what has no sound address, also set aside`() async throws {
    let database = Database(configuration())
    try await database.takeMail()
    _ = try Directory.make(mailbox.directory)
    Scratch.write([1, 2, 3], mailbox.directory + "/" + Mailbox.name(9, of: 9))
    #expect(try await database.takeMail().setAside == 1)
    try CompanionDatabase(configuration()).setValue(1, at: "x", as: "ann")
    try await database.discardMail(of: "ann")
    #expect(files().count == 1)
    try await database.discardMail()
    #expect(files() == [])
    await database.close()
  }

  #if Encryption
    @Test func `A companion that knows no key leaves nothing beside an encrypted store`()
      async throws
    {
      for store in Store.durable where store != .journal {
        defer { Directory.remove(scratch.store) }
        var setup = configuration(store)
        setup.options.encryption = StoreEncryption(key: Bytes(repeating: 7, count: 32))
        let companion = CompanionDatabase(configuration(store))
        // A mark that an earlier store has left.
        _ = try Directory.make(scratch.store)
        configuration(store).effectiveStorage.tellPlain()
        let database = Database(setup)
        try await database.takeMail()
        // It cannot be read here and now.
        #expect(
          code { () throws(DatabaseError) in try companion.setValue(1, at: "x", as: "ann") }
            == .storageFailure, "\(store)")
        await database.close()
        #expect(
          code { () throws(DatabaseError) in try companion.setValue(1, at: "x", as: "ann") }
            == .invalidConfiguration, "\(store)")
        #expect(files() == [])
      }
    }

    @Test func `A companion that has read a store sees that it was made anew with a key`()
      async throws
    {
      for store in Store.durable where store != .journal {
        defer { Directory.remove(scratch.store) }
        let plain = Database(configuration(store))
        _ = try await plain.reference(withPath: "x").setValue(1).id
        await plain.close()
        let companion = CompanionDatabase(configuration(store))
        #expect(try companion.getData(at: "x").value as? Int == 1)
        Directory.remove(scratch.store)
        var setup = configuration(store)
        setup.options.encryption = StoreEncryption(key: Bytes(repeating: 7, count: 32))
        let database = Database(setup)
        try await database.takeMail()
        for isOpen in [true, false] {
          if !isOpen { await database.close() }
          let found = code { () throws(DatabaseError) in
            try companion.setValue(1, at: "x", as: "ann")
          }
          #expect(found != nil, "\(store)")
        }
        #expect(files() == [], "\(store)")
        companion.close()
      }
    }

    @Test
    func `A kind of store that no companion can read gets mails once the app says it is plain`()
      async throws
    {
      for isEncrypted in [true, false] {
        defer { Directory.remove(scratch.store) }
        var setup = configuration(.journal)
        if isEncrypted {
          setup.options.encryption = StoreEncryption(key: Bytes(repeating: 7, count: 32))
        }
        let companion = CompanionDatabase(configuration(.journal))
        let database = Database(setup)
        try await database.takeMail()
        let found = code { () throws(DatabaseError) in
          try companion.setValue(1, at: "x", as: "")
        }
        #expect(found == (isEncrypted ? .storageFailure : nil))
        await database.close()
        #expect(files().count == (isEncrypted ? 0 : 1))
      }
    }
  #endif

  @Test func `What is damaged is set aside and reported, what is newer or another's stays`()
    async throws
  {
    let companion = CompanionDatabase(configuration())
    for number in 1...4 { try companion.setValue(number, at: "n\(number)", as: "") }
    let names = files()
    func path(_ index: Int) -> String { mailbox.directory + "/" + names[index] }
    var bytes = Scratch.read(path(1))
    bytes[bytes.count / 2] ^= 4
    Scratch.write(bytes, path(1))
    // One of a later format, soundly sealed.
    var writer = ByteWriter(Bytes("Cnfrmail".utf8))
    writer.varint(2)
    writer.littleEndian(
      XXHash64.hash(writer.bytes, seed: XXHash64.hash(Bytes(names[2].utf8))))
    Scratch.write(writer.bytes, path(2))
    var other = configuration()
    other.namespace = "another"
    try CompanionDatabase(other).setValue(5, at: "n5", as: "")
    let database = Database(configuration())
    let report = try await database.takeMail()
    // The last one is behind a newer one in the order of its sender.
    #expect(report.waiting == 3)
    #expect(try await pending(database) == ["/n1"])
    let incidents = try await database.incidents(needingCare: true).incidents
    #expect(incidents.count == 1)
    #expect(incidents.first?.place.contains(names[1]) == true)
    #expect(Scratch.read(path(1) + ".damaged") == bytes)
    #expect(try await database.takeMail() == report)
    #expect(try await database.incidents().incidents.count == 1)
    #expect(files().count == 4)
    await database.close()
  }

  @Test func `A read shows the cache with the waiting writes over it, and says what is missing`()
    async throws
  {
    let setup = configuration()
    let companion = CompanionDatabase(setup)
    #expect(
      code { () throws(DatabaseError) in _ = try companion.getData(at: "a") } == .storageMissing)
    let backend = try setup.effectiveStorage.open()
    let tree = try await backend.tree(named: "app")
    let query = TrackedQuery(tree: tree, path: "rooms", isComplete: true)
    _ = try await backend.commit(
      [.overwrite(tree, "rooms", ["r1": ["name": "Attic", "visits": 4]]), .saveQuery(query)])
    try await backend.close()
    let database = Database(setup)
    let room = database.reference(withPath: "rooms/r1")
    _ = try await room.child("visits").setValue(ServerValue.increment(2)).id
    _ = try await database.reference(withPath: "elsewhere").setValue("x").id
    await database.close()
    let read = try companion.getData(at: "rooms/r1")
    #expect(read.node == ["name": "Attic", "visits": 6])
    #expect(read.isComplete && read.pendingWrites == 1)
    struct Room: Decodable { let name: String }
    #expect(try read.data(as: Room.self).name == "Attic")
    #expect(try companion.getData(at: "rooms/r1/name").value as? String == "Attic")
    let above = try companion.getData(at: "")
    #expect(above.node == ["rooms": ["r1": ["name": "Attic", "visits": 6]], "elsewhere": "x"])
    #expect(!above.isComplete && above.pendingWrites == 2)
    #expect(
      code { () throws(DatabaseError) in _ = try companion.getData(at: "a//.b") } == .invalidPath)
    companion.close()
    let again = Database(setup)
    _ = try await again.reference(withPath: "rooms/r1/name").setPriority(3).id
    await again.close()
    #expect(
      try companion.getData(at: "rooms/r1/name").node
        == Node(.string("Attic"), priority: Priority(.integer(3))))
    companion.close()
  }

  @Test func `Invalid writes, storage in memory and databases without a server are refused`()
    async throws
  {
    let companion = CompanionDatabase(configuration())
    #expect(
      code { () throws(DatabaseError) in try companion.setValue(1, at: ".info/x") } == .readOnly)
    #expect(
      code { () throws(DatabaseError) in
        try companion.updateChildValues(["a": 1, "a/b": 2], at: "x")
      } == .invalidUpdate)
    #expect(files().isEmpty)
    let memory = CompanionDatabase(DatabaseConfiguration(namespace: "app", storage: .memory))
    #expect(
      code { () throws(DatabaseError) in try memory.setValue(1, at: "x") } == .invalidConfiguration)
    #expect(code { () throws(DatabaseError) in _ = try memory.getData(at: "x") } == .storageFailure)
  }

  /// A clock that does something when it is asked for the time, once.
  private final class BusyClock: EngineClock {
    private let body = Mutex<(@Sendable () -> Void)?>(nil)

    func next(_ next: @escaping @Sendable () -> Void) { body.withLock { $0 = next } }

    var now: Int64 { 1_000 }
    var wallTime: Int64 {
      let next = body.withLock { body in
        defer { body = nil }
        return body
      }
      next?()
      return TestClock.start
    }
    func wake(at moment: Int64, _ body: @escaping @Sendable () -> Void) {}
  }

  @Test func `Reads and writes on other threads get in no read's way, and closing ends none`()
    async throws
  {
    for store in Store.durable where store != .journal {
      defer {
        Directory.remove(scratch.store)
        Directory.remove(scratch.store + ".mail")
      }
      var setup = configuration(store)
      // By its backend alone, so that it does not say that it is plain.
      let backend = try setup.effectiveStorage.open()
      let tree = try await backend.tree(named: "app")
      _ = try await backend.commit([.enqueue(Lane(tree: tree, identity: ""), .set("x", 1))])
      try await backend.close()
      let clock = BusyClock()
      setup.clock = clock
      let companion = CompanionDatabase(setup)
      let found = Gathered<DatabaseError.Code?>()
      @Sendable func attempt(_ body: () throws(DatabaseError) -> Void) {
        do throws(DatabaseError) {
          try body()
          found.add(nil)
        } catch { found.add(error.code) }
      }
      // The clock is asked within the read.
      clock.next {
        attempt { () throws(DatabaseError) in try companion.setValue(2, at: "x", as: "ann") }
        companion.close()
        attempt { () throws(DatabaseError) in _ = try companion.getData(at: "x") }
        companion.close()
        attempt { () throws(DatabaseError) in try companion.setValue(3, at: "x", as: "ann") }
      }
      #expect(try companion.getData(at: "x").node == 1)
      #expect(found.all == [nil, nil, nil], "\(store)")
      #expect(files().count == 2)
      // What was closed meanwhile is closed by now: another reader of this process may open the store.
      let other = CompanionDatabase(configuration(store))
      #expect(try other.getData(at: "x").node == 1)
      other.close()
    }
  }

  @Test func `The first read and the first write of two threads do not meet`() async throws {
    for store in Store.durable where store != .journal {
      defer {
        Directory.remove(scratch.store)
        Directory.remove(scratch.store + ".mail")
      }
      let setup = configuration(store)
      let backend = try setup.effectiveStorage.open()
      let tree = try await backend.tree(named: "app")
      _ = try await backend.commit([.enqueue(Lane(tree: tree, identity: ""), .set("x", 1))])
      try await backend.close()
      for round in 0..<30 {
        let companion = CompanionDatabase(setup)
        async let reading: Void = { _ = try companion.getData(at: "x") }()
        async let writing: Void = { try companion.setValue(round, at: "x", as: "ann") }()
        _ = try await (reading, writing)
        companion.close()
      }
      #expect(files().count == 30)
    }
  }

  @Test func `A mailbox that is away for a while takes no memory of what was taken with it`()
    async throws
  {
    for store in Store.durable where store != .journal {
      defer {
        Directory.remove(scratch.store)
        Directory.remove(scratch.store + ".mail")
      }
      let setup = configuration(store)
      let first = Database(setup)
      try await first.takeMail()
      await first.close()
      try CompanionDatabase(setup).setValue(1, at: "x", as: "")
      // As a process leaves it that dies before the mail is removed.
      let script = ScriptedBackend.Script()
      script.change { $0.hardenFailure = StoreError(.io, "The disk fails, as the test asked for.") }
      var failing = setup
      failing.storage = setup.storage.map { ScriptedBackend.configuration($0, script) }
      let owner = Database(failing)
      await #expect(throws: DatabaseError.self) { try await owner.takeMail() }
      // Its write is in the queue, which may not survive power loss yet.
      try await owner.discardMail()
      await owner.close()
      #expect(files().count == 1)
      let (place, away) = (scratch.store + ".mail", scratch.path + "/away")
      try Directory.move(place, to: away)
      let without = Database(setup)
      #expect(try await without.takeMail() == MailReport())
      await without.close()
      try Directory.move(away, to: place)
      let again = Database(setup)
      try await again.takeMail()
      #expect(try await pending(again) == ["/x"], "\(store)")
      #expect(files() == [])
      await again.close()
    }
  }

  @Test func `What was given up is not sent where it cannot be removed, nor another's write`()
    async throws
  {
    for store in Store.durable where store != .journal {
      defer {
        Directory.remove(scratch.store)
        Directory.remove(scratch.store + ".mail")
      }
      let setup = configuration(store)
      let database = Database(setup)
      try await database.takeMail()
      let companion = CompanionDatabase(setup)
      try companion.setValue(1, at: "given/up", as: "")
      try companion.setValue(2, at: "kept", as: "")
      let names = files()
      let backend = try await database.engine.storage().backend
      let tree = try backend.read { (view) throws(StoreError) in try view.trees()[0].id }
      // As a process leaves it that dies within a purge; the second file could not be read, and turns out to be
      // another user's.
      _ = try await backend.commit([
        MailMark.edit(.givenUp("ann", .givenUp("", nil)), of: names[0], in: tree),
        MailMark.edit(.givenUp("ben", .givenUp("ann", nil)), of: names[1], in: tree),
      ])
      try await database.takeMail()
      #expect(try await pending(database) == ["/kept"], "\(store)")
      #expect(files() == [])
      await database.close()
    }
  }

  @Test func `A report that finds no room keeps no stored mail from being removed`() async throws {
    let script = ScriptedBackend.Script()
    var setup = configuration()
    setup.storage = setup.storage.map { ScriptedBackend.configuration($0, script) }
    let database = Database(setup)
    try await database.takeMail()
    _ = try Directory.make(mailbox.directory)
    Scratch.write([1], mailbox.directory + "/" + Mailbox.name(1, of: 7))
    try CompanionDatabase(configuration()).setValue(1, at: "x", as: "")
    script.fail(StoreError(.full, "The disk is full: make room."), at: "report")
    let error = await #expect(throws: DatabaseError.self) { try await database.takeMail() }
    #expect(error?.code == .storageFull)
    #expect(try await pending(database) == ["/x"])
    #expect(files() == [Mailbox.name(1, of: 7)])
    script.fail(nil)
    #expect(try await database.takeMail().setAside == 1)
    await database.close()
  }

  @Test func `A companion that comes by a link leaves writes where the app takes them`()
    async throws
  {
    for store in Store.durable where store != .journal {
      let link = scratch.path + "/current"
      defer {
        Directory.remove(link)
        Directory.remove(scratch.store)
        Directory.remove(scratch.store + ".mail")
      }
      let database = Database(configuration(store))
      try await database.takeMail()
      #expect(symlink("store", link) == 0)
      let other = DatabaseConfiguration(
        namespace: "app", storage: store.configuration(at: link))
      try CompanionDatabase(other).setValue(1, at: "x", as: "")
      #expect(try await database.takeMail().taken == 1, "\(store)")
      await database.close()
    }
  }

  @Test func `Drafts of killed senders go after a day`() throws {
    let companion = CompanionDatabase(configuration())
    try companion.setValue(1, at: "x", as: "")
    let draft = mailbox.directory + "/" + files()[0] + ".new"
    Scratch.write([1], draft)
    let now = Int64(Date.now.timeIntervalSince1970 * 1000)
    mailbox.removeAbandonedDrafts(at: now + 60_000)
    #expect(files().count == 2)
    mailbox.removeAbandonedDrafts(at: now + 25 * 60 * 60 * 1000)
    #expect(files().count == 1)
  }
}

extension MailReport {
  fileprivate init(waiting: Int, ofOtherUsers others: Int) {
    self.init()
    (self.waiting, waitingForOtherUsers) = (waiting, others)
  }
}
