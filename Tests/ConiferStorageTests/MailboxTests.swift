import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferStorage

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

  private func read(_ name: String) throws -> Mail? {
    guard case .mail(let mail) = try mailbox.read(name) else { return nil }
    return mail
  }

  @Test func `Mails are in the order of their sending, also of senders that meet`() throws {
    #expect(try mailbox.orderedFiles() == [])
    let (one, other) = (MailSender(mailbox), MailSender(mailbox))
    // The clock stands, goes back and is absurd.
    for (number, time) in ([1_000, 1_000, 5, -9, .max, 0] as [Int64]).enumerated() {
      try (number % 2 == 0 ? one : other).send(Self.mail(Int64(number)), at: time)
    }
    let names = try mailbox.orderedFiles()
    #expect(try names.map { try read($0) } == (0..<6).map { Self.mail(Int64($0)) })
    #expect(try mailbox.files() == names)
    try mailbox.remove(Array(names.prefix(5)))
    try mailbox.setAside(names[5])
    #expect(try mailbox.files() == [])
    #expect(Scratch.names(mailbox.directory) == [names[5] + ".damaged"])
    #expect(try mailbox.read(names[0]) == nil)
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
    #expect(try mailbox.orderedFiles().map { try read($0) } == [Self.mail(1), Self.mail(2)])
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
  }
}
