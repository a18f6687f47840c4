import ConiferKeyValue
import ConiferSQLite
import ConiferTree
import Logging
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Files in the mailbox that no companion database made: they do the app no harm, and keep no other mail.
@Suite(.timeLimit(.minutes(10))) final class ForgedMailTests {
  private let scratch: Scratch
  private let signIn = SignIn()

  init() throws { scratch = try Scratch() }

  deinit { Directory.remove(scratch.path) }

  private func configuration(withUsers: Bool = false) -> DatabaseConfiguration {
    var configuration = DatabaseConfiguration(
      namespace: "app", storage: .sqlite(at: scratch.store))
    configuration.logger.logLevel = .critical
    if withUsers { configuration.tokenProvider = signIn }
    return configuration
  }

  private var mailbox: Mailbox { Mailbox(of: scratch.store) }

  private func put(_ payload: WritePayload, of identity: String = "") throws {
    try MailSender(mailbox).send(
      Mail(tree: "app", identity: identity, payload: payload), at: 1_000)
  }

  /// Takes mails; gives the report, and how many writes wait after each of the first steps.
  private func taking(
    of database: Database, steps number: Int
  ) async throws -> (MailReport, [Int]) {
    let engine = try #require(database.engine as? Engine)
    let report = Promise<MailReport>()
    let counts = Promise<[Int]>()
    engine.steps.post(
      .run { [steps = engine.steps] _ in
        steps.post(.takeMail(MailTaking { report.resolve($0) }))
        Self.count(steps, number, []) { counts.resolve(.success($0)) }
      })
    return (try await report.value(), try await counts.value())
  }

  /// Counts the writes that wait in each of so many steps; those that are asked for within another one follow each
  /// other.
  private static func count(
    _ steps: StepQueue<EngineLoop>, _ number: Int, _ found: [Int],
    _ done: @escaping @Sendable ([Int]) -> Void
  ) {
    if number == 0 { return done(found) }
    steps.post(.run { count(steps, number - 1, found + [$0.pendingCount], done) })
  }

  private func paths(_ database: Database) async throws -> [String] {
    try await database.pendingWrites(limit: 10_000).map { "\($0.path)" }
  }

  /// A set of a node with so many levels of keys.
  private static func deep(_ levels: Int) -> WritePayload {
    var writer = ByteWriter()
    writer.byte(WriteContent.Kind.set.rawValue)
    NodeCodec.append(Path("a"), to: &writer)
    writer.varint(1)
    NodeCodec.append(Path("a"), to: &writer)
    for _ in 0..<levels {
      writer.byte(NodeCodec.Form.interior.rawValue)
      writer.varint(1)
      writer.sized("k")
    }
    writer.byte(NodeCodec.Form.leaf.rawValue)
    LeafCodec.append(.integer(7), nil, to: &writer)
    writer.varint(0)
    writer.sized("")
    writer.zigzag(0)
    return WritePayload(kind: .tree, path: "a", touches: ["a"], bytes: writer.bytes)
  }

  @Test func `Writes that the rules forbid are set aside, and others are taken`() async throws {
    let forged: [WriteContent] = [
      .set(Path([Key(".info"), Key("x")]), 1),
      .set(Path([Key("a#b")]), 1),
      .set(Path([Key("a/b")]), 1),
      .set(Path([Key("")]), 1),
      .set(Path((0...Path.deepest).map { Key("k\($0)") }), 1),
      .set("a", Node(.double(.nan))),
      .set("a", Node(children: [(Key("."), Node(.integer(1)))])),
      // Whole, its path is too deep.
      .set(Path((0..<Path.deepest).map { Key("k\($0)") }), ["k": 1]),
      WriteContent(kind: .set, path: "a", changes: [.init("b", 1)]),
      WriteContent(kind: .set, path: "a", changes: []),
      WriteContent(kind: .set, path: "a", changes: [.init("a", 1), .init("a", 2)]),
      WriteContent(kind: .update, path: "a", changes: [.init("b/c", 1)]),
      WriteContent(kind: .update, path: "a", changes: [.init("a", 1)]),
      WriteContent(kind: .update, path: "a", changes: [.init("a/b", 1), .init("a/b/c", 2)]),
      WriteContent(kind: .update, path: "a", changes: []),
      WriteContent(kind: .transaction, path: "a", changes: [.init("a", 1)]),
      WriteContent(
        kind: .set, path: "a", changes: [.init("a", 1)],
        preconditions: [.init(path: "a", hash: "x")]),
    ]
    for content in forged { try put(content.payload) }
    let depths = [Path.deepest + 1, NodeCodec.deepest, NodeCodec.deepest + 1, 200_000]
    for depth in depths { try put(Self.deep(depth)) }
    let companion = CompanionDatabase(configuration())
    try companion.setValue(["b": 1], at: "fine", as: "")
    try companion.updateChildValues(["b/c": 2, "d": 3], at: "fine", as: "")
    try companion.enqueue(.priority(4), at: "fine", as: "")
    let database = Database(configuration())
    let report = try await database.takeMail()
    #expect(try await paths(database) == ["/fine", "/fine", "/fine/.priority"])
    #expect(report == MailReport())
    let reports = try await database.incidents(needingCare: true).incidents
    #expect(reports.count == 1)
    #expect(reports.first?.place.contains("and \(forged.count + depths.count - 1) more") == true)
    let left = Scratch.names(mailbox.directory)
    #expect(
      left.count == forged.count + depths.count && left.allSatisfy { $0.hasSuffix(".damaged") })
    await database.close()
    let again = Database(configuration())
    #expect(try await again.takeMail() == MailReport())
    #expect(try await paths(again).count == 3)
    await again.close()
  }

  @Test func `A write that is as deep as the rules allow is taken`() async throws {
    var node: Node = 1
    for level in 1..<Path.deepest { node = Node(children: [(Key("k\(level)"), node)]) }
    try put(WriteContent.set("a", node).payload)
    let database = Database(configuration())
    try await database.takeMail()
    #expect(try await database.pendingWrites().first?.changes.first?.node == node)
    await database.close()
  }

  @Test func `Odd files wait, and keep no other sender's mail`() async throws {
    let database = Database(configuration())
    try await database.takeMail()
    let companion = CompanionDatabase(configuration())
    try companion.setValue(1, at: "first", as: "")
    let names = try mailbox.files()
    func path(_ number: UInt64) -> String {
      mailbox.directory + "/" + Mailbox.name(number, of: 3)
    }
    #expect(mkfifo(path(1), 0o600) == 0)
    #expect(mkdir(path(2), 0o700) == 0)
    #expect(symlink(mailbox.directory + "/" + names[0], path(3)) == 0)
    // Behind the others in the order of its sender.
    try mailbox.put(
      Mail(tree: "app", identity: "", payload: WriteContent.set("held", 1).payload),
      as: Mailbox.name(4, of: 3))
    let report = try await database.takeMail()
    #expect(report.taken == 1 && report.waiting == 4 && report.waitingForOtherUsers == 0)
    #expect(report.setAside == 0)
    #expect(try await paths(database) == ["/first"])
    #expect(Scratch.names(mailbox.directory).count == 4)
    await database.close()
  }

  @Test func `A step takes no more than 256, whoever they are for`() async throws {
    let database = Database(configuration())
    try await database.takeMail()
    let sender = MailSender(mailbox)
    for number in 0..<300 {
      for identity in ["", "ben"] {
        let payload = WriteContent.set(Path("n\(number)"), 1).payload
        try sender.send(Mail(tree: "app", identity: identity, payload: payload), at: 1_000)
      }
    }
    let (report, counts) = try await taking(of: database, steps: 2)
    #expect(report.taken == 300 && report.waitingForOtherUsers == 300)
    #expect(counts == [128, 256])
    #expect(try await paths(database) == (0..<300).map { "/n\($0)" })
    #expect(try mailbox.files().count == 300)
    await database.close()
  }

  @Test func `A step takes no more than a mebibyte and a mail`() async throws {
    let database = Database(configuration())
    try await database.takeMail()
    let sender = MailSender(mailbox)
    let text = String(repeating: "x", count: Mail.largest / 2 - 200)
    for number in 0..<5 {
      let payload = WriteContent.set(Path("n\(number)"), Node(.string(text))).payload
      try sender.send(Mail(tree: "app", identity: "", payload: payload), at: 1_000)
    }
    let (report, counts) = try await taking(of: database, steps: 3)
    #expect(report.taken == 5)
    #expect(counts == [3, 5, 5])
    await database.close()
  }

  @Test func `Large files that are no mails are looked at in steps too`() async throws {
    let database = Database(configuration())
    try await database.takeMail()
    _ = try Directory.make(mailbox.directory)
    for number in 1...4 {
      Scratch.write(
        Bytes(repeating: 1, count: 600_000),
        mailbox.directory + "/" + Mailbox.name(UInt64(number), of: 7))
    }
    try CompanionDatabase(configuration()).setValue(1, at: "behind", as: "")
    let (report, counts) = try await taking(of: database, steps: 3)
    #expect(report.setAside == 4 && counts == [0, 0, 1])
    await database.close()
  }

  @Test func `Any number of forged files make one report, and a mail behind them is taken`()
    async throws
  {
    let database = Database(configuration())
    try await database.takeMail()
    _ = try Directory.make(mailbox.directory)
    for number in 1...600 {
      Scratch.write([1], mailbox.directory + "/" + Mailbox.name(UInt64(number), of: 7))
    }
    try CompanionDatabase(configuration()).setValue(1, at: "behind", as: "")
    let report = try await database.takeMail()
    #expect(report.taken == 1 && report.setAside == 600 && report.waiting == 0)
    #expect(try await paths(database) == ["/behind"])
    let incidents = try await database.incidents().incidents
    #expect(incidents.count == 1)
    #expect(incidents.first?.place.contains("and 599 more") == true)
    #expect(try await database.takeMail() == MailReport())
    #expect(try await database.incidents().incidents.count == 1)
    await database.close()
  }

  @Test func `What cannot be set aside keeps no other mail, and is reported once`() async throws {
    let database = Database(configuration())
    try await database.takeMail()
    _ = try Directory.make(mailbox.directory)
    let stuck = mailbox.directory + "/" + Mailbox.name(1, of: 7)
    Scratch.write([1], stuck)
    #expect(mkdir(stuck + ".damaged", 0o700) == 0)
    let sender = MailSender(mailbox)
    for round in 1...2 {
      for number in 0..<300 {
        let payload = WriteContent.set(Path("r\(round)/n\(number)"), 1).payload
        try sender.send(Mail(tree: "app", identity: "", payload: payload), at: 1_000)
      }
      let error = await #expect(throws: DatabaseError.self) { try await database.takeMail() }
      #expect(error?.code == .storageFailure && error?.message.contains("set aside") == true)
      #expect(try await paths(database).count == round * 300)
      #expect(try mailbox.files().count == 1)
      #expect(try await database.incidents(needingCare: true).incidents.count == 1)
    }
    #expect(rmdir(stuck + ".damaged") == 0)
    #expect(try await database.takeMail().setAside == 1)
    #expect(try await database.incidents().incidents.count == 1)
    await database.close()
  }

  @Test func `A purge removes the mails of the user alone`() async throws {
    signIn.set("ann")
    let database = Database(configuration(withUsers: true))
    try put(WriteContent.set(Path([Key("a#b")]), 1).payload, of: "ann")
    try await database.takeMail()
    #expect(Scratch.names(mailbox.directory).first?.hasSuffix(".damaged") == true)
    let companion = CompanionDatabase(configuration(withUsers: true))
    for number in 0..<3 { try companion.setValue(number, at: "n\(number)", as: "ann") }
    try companion.setValue(1, at: "n", as: "ben")
    database.purgeOutstandingWrites()
    let report = try await database.takeMail()
    #expect(report.taken == 0 && report.waiting == 1)
    #expect(try await paths(database) == [])
    #expect(Scratch.names(mailbox.directory).count == 1)
    // Nothing of it is left in the store.
    let backend = try await database.engine.storage().backend
    let marked = try backend.read { (view) throws(StoreError) in
      try MailMark.names(in: view, try view.trees()[0].id)
    }
    #expect(marked == [])
    signIn.set("ben")
    database.tokenDidChange()
    try await database.takeMail()
    #expect(try await paths(database) == ["/n"])
    await database.close()
  }
}

extension EngineLoop {
  /// How many writes wait in the user's queue.
  fileprivate var pendingCount: Int {
    lifetime.storage.read { (view, lane) throws(StoreError) in try view.totals(lane).pending } ?? -1
  }
}
