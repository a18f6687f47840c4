import ConiferEngine
import ConiferStorage

/// A taking of the writes that other processes have left, over as many steps as it needs.
struct MailTaking: Sendable {
  /// Told at the end; nil when nobody waits for it.
  let done: (@Sendable (Result<MailReport, DatabaseError>) -> Void)?
  /// Whose mails are taken; nil before the first step.
  private(set) var lane: Lane?
  /// The mails that no step has looked at yet, in their order.
  private(set) var names: ArraySlice<String> = []
  /// Those that cannot be taken.
  private(set) var refused: ArraySlice<Refused> = []
  /// Whether there is a report of these that survives power loss.
  private(set) var isReported = false
  /// Senders of whom a mail was not taken, so that their later ones are not either.
  private(set) var held: Set<UInt64> = []
  /// What was done so far.
  var report = MailReport()
  /// Why not all was taken that could be.
  private(set) var failure: DatabaseError?
  /// Whether no further mail can be taken.
  private(set) var isStopped = false

  /// A mail that cannot be taken, and why.
  struct Refused {
    let name: String
    let why: String
  }

  init(_ done: (@Sendable (Result<MailReport, DatabaseError>) -> Void)? = nil) { self.done = done }

  /// Begins to take the mails for a lane, also in the place of those of another one.
  mutating func begin(_ lane: Lane, _ names: [String]) {
    self.lane = lane
    self.names = names[...]
    held = []
    isStopped = false
    (refused, isReported) = ([], false)
    (report.waiting, report.waitingForOtherUsers) = (0, 0)
  }

  /// Whether a step has looked at all mails.
  var areAllSeen: Bool { names.isEmpty }

  /// Whether nothing is left for another step.
  var isAtEnd: Bool { names.isEmpty && refused.isEmpty }

  /// A step has looked at the next mail.
  mutating func passed() { names.removeFirst() }

  /// A mail was not taken: those of its sender that follow stay too.
  mutating func hold(_ sender: UInt64) {
    report.waiting += 1
    held.insert(sender)
  }

  /// A mail cannot be taken: it is set aside when all were looked at.
  mutating func refuse(_ name: String, _ why: String) {
    refused.append(Refused(name: name, why: why))
  }

  /// The mails that cannot be taken may be set aside.
  mutating func reported() { isReported = true }

  /// The next taking sets aside what cannot be taken.
  mutating func setAsideLater() { refused = [] }

  /// Takes mails that are to be set aside.
  mutating func takeRefused(_ count: Int) -> [String] {
    defer { refused = refused.dropFirst(count) }
    return refused.prefix(count).map(\.name)
  }

  /// Something failed, and what follows is taken all the same.
  mutating func note(_ error: DatabaseError) { failure = failure ?? error }

  /// Something failed: the next taking goes on.
  mutating func stop(_ error: DatabaseError) {
    note(error)
    isStopped = true
    (names, refused) = ([], [])
  }
}
