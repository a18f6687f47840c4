import ConiferKeyValue
import ConiferTree
import Foundation
import Logging
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferStorage

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
      try companion.setValue("Attic", at: "rooms/r1/name")
      try companion.updateChildValues(["a": 1, "b/c": NSNull()], at: "rooms/r2")
      try companion.removeValue(at: "old")
      try companion.setValue(2, at: "rooms/r1/size")
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
    #expect(report.waiting == 1 && report.setAside == 0)
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

  @Test func `What is damaged is set aside and reported, what is newer or another's stays`()
    async throws
  {
    let companion = CompanionDatabase(configuration())
    for number in 1...4 { try companion.setValue(number, at: "n\(number)") }
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
    try CompanionDatabase(other).setValue(5, at: "n5")
    let database = Database(configuration())
    let report = try await database.takeMail()
    #expect(report.waiting == 2)
    #expect(try await pending(database) == ["/n1", "/n4"])
    let incidents = try await database.incidents(needingCare: true)
    #expect(incidents.count == 1)
    #expect(incidents.first?.place.contains(names[1]) == true)
    #expect(Scratch.read(path(1) + ".damaged") == bytes)
    #expect(try await database.takeMail() == report)
    #expect(try await database.incidents().count == 1)
    #expect(files().count == 3)
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

  @Test func `Drafts of killed senders go after a day`() throws {
    let companion = CompanionDatabase(configuration())
    try companion.setValue(1, at: "x")
    let draft = mailbox.directory + "/" + files()[0] + ".new"
    Scratch.write([1], draft)
    let now = Int64(Date.now.timeIntervalSince1970 * 1000)
    mailbox.removeAbandonedDrafts(at: now + 60_000)
    #expect(files().count == 2)
    mailbox.removeAbandonedDrafts(at: now + 25 * 60 * 60 * 1000)
    #expect(files().count == 1)
  }
}
