package import ConiferKeyValue
internal import Synchronization

/// Puts the writes of one process into the mailbox of a store, in the order of the calls.
package final class MailSender: Sendable {
  private let mailbox: Mailbox
  private let sender = UInt64.random(in: .min ... .max)
  private let last = Mutex<UInt64>(0)

  package init(_ mailbox: Mailbox) { self.mailbox = mailbox }

  /// Puts a mail behind all that this process put before, and behind those of others that are there.
  ///
  /// - Parameters:
  ///   - mail: what is to be queued.
  ///   - time: now, in milliseconds since 1970: it orders mails of processes that do not meet.
  /// - Throws: as `Mailbox.put`.
  package func send(_ mail: Mail, at time: Int64) throws(StoreError) {
    try last.withLock { (last: inout UInt64) throws(StoreError) in
      let now = UInt64(min(max(0, time), 1 << 50)) << 10
      let number = max(now, max(last, try mailbox.highestNumber()) + 1)
      try mailbox.put(mail, as: Mailbox.name(number, of: sender))
      last = number
    }
  }
}
