package import ConiferKeyValue
internal import Synchronization

/// Puts the writes of one process into the mailbox of a store, in the order of the calls.
package final class MailSender: Sendable {
  private struct State {
    /// The number of the last mail that was put.
    var last: UInt64
    /// Whether this process has made the mailbox's own name durable.
    var isMailboxDurable = false
  }

  private let mailbox: Mailbox
  private let sender = UInt64.random(in: .min ... .max)
  private let state: Mutex<State>

  /// - Parameter last: the number of the last mail that was put.
  package init(_ mailbox: Mailbox, after last: UInt64 = 0) {
    self.mailbox = mailbox
    state = Mutex(State(last: last))
  }

  /// Puts a mail behind all that this process put before, and behind those of others that are there.
  ///
  /// - Parameters:
  ///   - mail: what is to be queued.
  ///   - time: now, in milliseconds since 1970: it orders mails of processes that do not meet.
  /// - Throws: as `Mailbox.put`; `invalid` when there is no number left.
  package func send(_ mail: Mail, at time: Int64) throws(StoreError) {
    try state.withLock { (state: inout State) throws(StoreError) in
      let now = UInt64(min(max(0, time), 1 << 50)) << Mailbox.timeShift
      let number = max(now, max(state.last, try mailbox.highestNumber()) + 1)
      guard number <= Mailbox.lastNumber else {
        throw StoreError(
          .invalid,
          "The mails in \(mailbox.directory) have used up all numbers, so that the owner would not find this one: "
            + "let the app take them, and check the clock.")
      }
      // Also for one that fails: the owner may have found it nevertheless, and would take the next one for it.
      state.last = number
      try mailbox.put(
        mail, as: Mailbox.name(number, of: sender), syncsParent: !state.isMailboxDurable)
      state.isMailboxDurable = true
    }
  }
}
