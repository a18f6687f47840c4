import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The files by which other processes leave writes for the owner of a store.
@Suite final class MailboxTests {
  private let scratch: Scratch
  private let mailbox: Mailbox

  init() throws {
    scratch = try Scratch()
    mailbox = Mailbox(of: scratch.store)
  }

  deinit { Directory.remove(scratch.path) }

  private static func mail(_ number: Int64, _ identity: String = "ann") -> Mail {
    Mail(
      tree: "main", identity: identity,
      payload: WriteContent.set("rooms/r1", Node(.integer(number))).payload)
  }

  private func read(_ name: String) -> Mail? {
    guard case .mail(let mail) = mailbox.read(name) else { return nil }
    return mail
  }

  private func isDamaged(_ name: String) -> Bool {
    if case .damaged? = mailbox.read(name) { true } else { false }
  }

  @Test func `Mails are in the order of their sending, also of senders that meet`() throws {
    #expect(try mailbox.orderedFiles() == [])
    let (one, other) = (MailSender(mailbox), MailSender(mailbox))
    // The clock stands, goes back and is absurd.
    for (number, time) in ([1_000, 1_000, 5, -9, .max, 0] as [Int64]).enumerated() {
      try (number % 2 == 0 ? one : other).send(Self.mail(Int64(number)), at: time)
    }
    let names = try mailbox.orderedFiles()
    #expect(names.map { read($0) } == (0..<6).map { Self.mail(Int64($0)) })
    #expect(try mailbox.files() == names)
    try mailbox.remove(Array(names.prefix(5)))
    #expect(mailbox.setAside([names[5]]).error == nil)
    #expect(try mailbox.files() == [])
    #expect(Scratch.names(mailbox.directory) == [names[5] + ".damaged"])
    #expect(mailbox.read(names[0]) == nil)
  }

  @Test func `Every changed byte and every other name is noticed`() throws {
    let name = Mailbox.name(7, of: 9)
    let bytes = Self.mail(4).bytes(as: name)
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 1 << UInt8(place % 8)
      guard case .damaged = Mail.read(changed, as: name) else {
        Issue.record("byte \(place)")
        continue
      }
      guard case .damaged = Mail.read(Bytes(bytes.prefix(place)), as: name) else {
        Issue.record("cut at \(place)")
        continue
      }
    }
    guard case .damaged = Mail.read(bytes, as: Mailbox.name(8, of: 9)) else {
      Issue.record("another name")
      return
    }
  }

  @Test func `Other files are left alone, and absurd numbers do no harm`() throws {
    try MailSender(mailbox).send(Self.mail(1), at: 1)
    for name in ["ffffffffffffffff-0000000000000001.mail", "x.mail", "1-2.mail", "owner"] {
      Scratch.write([1], mailbox.directory + "/" + name)
    }
    #expect(try mailbox.files().count == 1)
    try MailSender(mailbox).send(Self.mail(2), at: 1)
    #expect(try mailbox.orderedFiles().map { read($0) } == [Self.mail(1), Self.mail(2)])
  }

  @Test func `A file with a high number keeps no later mail from being found`() throws {
    let highest = Mailbox.highestPlausibleNumber
    let forged: [UInt64] = [highest, highest + 1, Mailbox.lastNumber - 1, Mailbox.lastNumber]
    for (sent, number) in forged.enumerated() {
      try Platform.makeDirectory(mailbox.directory)
      Scratch.write([1], mailbox.directory + "/" + Mailbox.name(number, of: 1))
      try MailSender(mailbox).send(Self.mail(Int64(sent)), at: .max)
      let found = try mailbox.orderedFiles().compactMap { read($0) }
      #expect(found.count == sent + 1 && found.contains(Self.mail(Int64(sent))), "\(number)")
    }
    #expect(try mailbox.highestNumber() == highest)
  }

  @Test func `A sender without a number left is told`() throws {
    let sender = MailSender(mailbox, after: Mailbox.lastNumber - 1)
    try sender.send(Self.mail(1), at: 1)
    #expect(code { () throws(StoreError) in try sender.send(Self.mail(2), at: 1) } == .invalid)
    #expect(try mailbox.files().compactMap { read($0) } == [Self.mail(1)])
  }

  @Test func `What is no regular file keeps nobody waiting, and is not followed`() throws {
    try MailSender(mailbox).send(Self.mail(1), at: 1)
    let name = try #require(try mailbox.files().first)
    func path(_ number: UInt64) -> String {
      mailbox.directory + "/" + Mailbox.name(number, of: 2)
    }
    #expect(mkfifo(path(1), 0o600) == 0)
    #expect(mkdir(path(2), 0o700) == 0)
    #expect(symlink(mailbox.directory + "/" + name, path(3)) == 0)
    Scratch.write([1], path(4))
    #expect(chmod(path(4), 0) == 0)
    for number in 1...4 {
      let isReadable = number == 4 && geteuid() == 0
      switch mailbox.read(Mailbox.name(UInt64(number), of: 2)) {
      case .unreadable: #expect(!isReadable)
      case .damaged: #expect(isReadable)
      default: Issue.record("\(number)")
      }
    }
    #expect(read(name) == Self.mail(1))
  }

  @Test func `Of a mail for somebody else only the address is read`() throws {
    try MailSender(mailbox).send(Self.mail(1, "ben"), at: 1)
    let name = try #require(try mailbox.files().first)
    var bytes = Scratch.read(mailbox.directory + "/" + name)
    bytes[bytes.count - 1] ^= 1
    Scratch.write(bytes, mailbox.directory + "/" + name)
    func reading(for identity: String) -> String {
      "\(mailbox.read(name) { $0 == Mail.Address(tree: "main", identity: identity) } as Any)"
    }
    #expect(reading(for: "ann").contains("elsewhere"))
    #expect(reading(for: "ben").contains("damaged"))
  }

  @Test func `An address is as long as namespaces and users may be, and no longer`() throws {
    let longest = String(repeating: "x", count: Lane.longestIdentity)
    let sender = MailSender(mailbox)
    try sender.send(Self.mail(1, longest), at: 1)
    for identity in [longest + "x", "a\0b"] {
      let found = code { () throws(StoreError) in
        try sender.send(Self.mail(2, identity), at: 1)
      }
      #expect(found == .invalid)
    }
    let name = try #require(try mailbox.files().first)
    #expect(read(name) == Self.mail(1, longest))
    let forged = Mailbox.name(9, of: 9)
    let mail = Self.mail(3, String(repeating: "x", count: Mail.Address.longest))
    Scratch.write(mail.bytes(as: forged), mailbox.directory + "/" + forged)
    #expect(isDamaged(forged))
    try mailbox.removeAll(try mailbox.allFiles()) { if case .of = $0 { true } else { false } }
    #expect(try mailbox.files() == [forged])
    try mailbox.removeAll(try mailbox.allFiles()) { if case .nobody = $0 { true } else { false } }
    #expect(try mailbox.files() == [])
  }

  @Test func `An address is read in every format, and no other file has one`() throws {
    let name = Mailbox.name(1, of: 1)
    try Platform.makeDirectory(mailbox.directory)
    let address = Mail.Address(tree: "main", identity: "ann")
    for format in [1, 2, 200] {
      Scratch.write(Self.later(format, name), mailbox.directory + "/" + name)
      guard case .of(address) = mailbox.holder(of: name) else {
        Issue.record("format \(format)")
        continue
      }
      guard case .elsewhere(address)? = mailbox.read(name, where: { _ in false }) else {
        Issue.record("format \(format)")
        continue
      }
    }
    let reading = mailbox.read(name)
    if case .newer? = reading {} else { Issue.record("\(reading as Any)") }
    let (directory, link) = (Mailbox.name(2, of: 1), Mailbox.name(3, of: 1))
    #expect(mkdir(mailbox.directory + "/" + directory, 0o700) == 0)
    #expect(symlink(mailbox.directory + "/" + name, mailbox.directory + "/" + link) == 0)
    for file in [directory, link] {
      if case .nobody = mailbox.holder(of: file) {} else { Issue.record("\(file)") }
    }
    if case .missing = mailbox.holder(of: Mailbox.name(4, of: 1)) {
    } else {
      Issue.record("missing")
    }
    try mailbox.removeAll(try mailbox.allFiles()) { _ in true }
    #expect(Scratch.names(mailbox.directory) == [])
  }

  /// A mail of a format, as far as every version knows it.
  private static func later(_ format: Int, _ name: String) -> Bytes {
    let seed = XXHash64.hash(Bytes(name.utf8))
    var writer = ByteWriter(Bytes("Cnfrmail".utf8))
    writer.varint(format)
    writer.sized("main")
    writer.sized("ann")
    writer.littleEndian(XXHash64.hash(writer.bytes, seed: seed))
    writer.sized("what later versions know")
    writer.littleEndian(XXHash64.hash(writer.bytes, seed: seed))
    return writer.bytes
  }

  @Test func `A store has one mailbox, whichever path leads to it`() throws {
    #expect(mkdir(scratch.store, 0o700) == 0)
    let link = scratch.path + "/current"
    #expect(symlink("store", link) == 0)
    for path in [link, scratch.store + "/.", link + "/../store", scratch.store] {
      let storage = StorageConfiguration(
        name: "none", location: path, options: StorageOptions()
      ) { (_) throws(StoreError) in throw StoreError(.unsupported, "It is never opened.") }
      #expect(storage.mailbox?.directory == mailbox.directory, "\(path)")
    }
    // Before the store is there, its parent may be a link already.
    let parent = scratch.path + "/parent"
    #expect(symlink(scratch.path, parent) == 0)
    #expect(
      Mailbox(of: parent + "/later").directory == Mailbox(of: scratch.path + "/later").directory)
    for name in [link, parent] { unlink(name) }
  }

  @Test func `What cannot be renamed keeps nothing else from being set aside`() throws {
    let sender = MailSender(mailbox)
    for number in 1...3 { try sender.send(Self.mail(Int64(number)), at: 1) }
    let names = try mailbox.files()
    let inTheWay = mailbox.directory + "/" + names[0] + ".damaged"
    #expect(mkdir(inTheWay, 0o700) == 0)
    let (count, error) = mailbox.setAside(names)
    #expect(count == 2 && error?.code == .io)
    #expect(error?.message.contains("1 of the files") == true)
    #expect(try mailbox.files() == [names[0]])
  }

  @Test func `All mails of a user are removed, also those that were set aside`() throws {
    let sender = MailSender(mailbox)
    for identity in ["ann", "ann", "ann", "ben"] { try sender.send(Self.mail(1, identity), at: 1) }
    let names = try mailbox.files()
    #expect(mailbox.setAside([names[1]]).error == nil)
    Scratch.write([1], mailbox.directory + "/" + names[0] + ".new")
    let address = Mail.Address(tree: "main", identity: "ann")
    try mailbox.removeAll(try mailbox.allFiles()) {
      if case .of(address) = $0 { true } else { false }
    }
    #expect(Scratch.names(mailbox.directory) == [names[0] + ".new", names[3]])
  }

  @Test func `A write that is too large is refused, and a file that is is damaged`() throws {
    let large = Mail(
      tree: "main", identity: "",
      payload: WritePayload(
        kind: WritePayload.Kind(rawValue: 9), path: "a", touches: [],
        bytes: Bytes(repeating: 0, count: Mail.largest)))
    #expect(
      code { () throws(StoreError) in try MailSender(mailbox).send(large, at: 1) } == .tooLarge)
    #expect(try mailbox.files() == [])
    // Sparse, so that whoever read it all would run out of memory.
    let (huge, newer) = (Mailbox.name(1, of: 1), Mailbox.name(2, of: 1))
    try Platform.makeDirectory(mailbox.directory)
    var later = ByteWriter(Bytes("Cnfrmail".utf8))
    later.varint(2)
    for (name, bytes) in [(huge, Self.mail(1).bytes(as: huge)), (newer, later.bytes)] {
      let path = mailbox.directory + "/" + name
      Scratch.write(bytes, path)
      #expect(truncate(path, 1 << 40) == 0)
    }
    #expect(isDamaged(huge))
    let isNewer = if case .newer? = mailbox.read(newer) { true } else { false }
    #expect(isNewer)
  }

  @Test func `Drafts go when their number is a day old, and nothing else does`() throws {
    try MailSender(mailbox).send(Self.mail(1), at: 1_000)
    let name = try #require(try mailbox.files().first)
    let last = Mailbox.name(Mailbox.lastNumber, of: 7)
    let others = ["x.mail.new", name + ".damaged.new", last + ".new"]
    for file in others + [name + ".new"] { Scratch.write([1], mailbox.directory + "/" + file) }
    let day: Int64 = 24 * 60 * 60 * 1000
    mailbox.removeAbandonedDrafts(at: 1_000 + day)
    #expect(Scratch.names(mailbox.directory).count == 5)
    mailbox.removeAbandonedDrafts(at: 1_001 + day)
    #expect(Scratch.names(mailbox.directory) == (others + [name]).sorted())
  }
}
