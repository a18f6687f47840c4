package import ConiferKeyValue

/// The directory beside a store into which other processes put writes, and from which the store's owner takes
/// them.
///
/// Each write is a file of its own, which is there durably and whole or not at all. Its name begins with a number
/// that rises with each mail of a sender, and with time among senders: the names' order is that of the writes.
package struct Mailbox: Sendable {
  package let directory: String

  /// The mailbox of a store.
  ///
  /// - Parameter root: the store's directory; the mailbox lies beside it, where an exchange of the store's files
  ///   leaves it alone.
  package init(of root: String) { directory = root + ".mail" }

  private static let ending = ".mail"
  private static let draftEnding = ".mail.new"
  /// No mail has a higher number.
  static let lastNumber: UInt64 = 1 << 62
  private static let setAsideEnding = ".damaged"

  /// The name of a mail's file.
  static func name(_ number: UInt64, of sender: UInt64) -> String {
    "\(number.hex)-\(sender.hex)\(ending)"
  }

  /// The number and the sender in a file's name; nil for other files.
  private static func parts(_ name: String) -> (number: UInt64, sender: Substring)? {
    guard name.hasSuffix(ending) else { return nil }
    let parts = name.dropLast(ending.count).split(
      separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 16 }),
      let number = UInt64(parts[0], radix: 16), number <= lastNumber,
      UInt64(parts[1], radix: 16) != nil
    else { return nil }
    return (number, parts[1])
  }

  // MARK: Sending

  /// The highest number of a mail that is there; 0 when there is none.
  ///
  /// - Throws: `denied`, `io`.
  func highestNumber() throws(StoreError) -> UInt64 {
    try files().last.flatMap { Self.parts($0)?.number } ?? 0
  }

  /// Puts a mail, durably, whole or not at all.
  ///
  /// - Throws: `tooLarge`, `denied`, `full`, `io`; it was not put then, but that the owner may have found it where
  ///   only its name could not be made durable.
  func put(_ mail: Mail, as name: String) throws(StoreError) {
    let bytes = mail.bytes(as: name)
    guard bytes.count <= Mail.largest else {
      throw StoreError(
        .tooLarge,
        "A write of \(bytes.count) bytes is above the \(Mail.largest) that one mail takes: split it."
      )
    }
    try Platform.makeDirectory(directory)
    let path = "\(directory)/\(name)"
    do throws(StoreError) {
      try Directory.put(bytes, at: path)
    } catch {
      for name in [path + ".new", path] { Directory.remove(name) }
      throw error
    }
  }

  // MARK: Taking

  /// The names of the mails that are there, in their order; none where there is no mailbox.
  ///
  /// - Throws: `denied`, `io`.
  package func files() throws(StoreError) -> [String] {
    guard !Directory.isMissing(directory) else { return [] }
    return try Directory.names(in: directory).filter { Self.parts($0) != nil }
  }

  /// The names of mails of which no earlier one of the same sender is missing, in their order.
  ///
  /// A listing beside a sender may have a mail without the one before it. A second listing has all that were there
  /// when the first one ended.
  ///
  /// - Throws: `denied`, `io`.
  package func orderedFiles() throws(StoreError) -> [String] {
    var newest: [Substring: UInt64] = [:]
    for name in try files() {
      if let (number, sender) = Self.parts(name) { newest[sender] = number }
    }
    guard !newest.isEmpty else { return [] }
    return try files().filter { name in
      guard let (number, sender) = Self.parts(name), let last = newest[sender] else { return false }
      return number <= last
    }
  }

  /// Reads a mail; nil when it is not there any more.
  ///
  /// - Throws: `denied`, `io`.
  package func read(_ name: String) throws(StoreError) -> Mail.Reading? {
    let bytes = try Directory.contents("\(directory)/\(name)", limit: Mail.largest + 1)
    guard let bytes else { return nil }
    return bytes.count > Mail.largest ? .damaged : Mail.read(bytes, as: name)
  }

  /// Removes mails, durably.
  ///
  /// - Throws: `denied`, `full`, `io`; any of them may be there then.
  package func remove(_ names: [String]) throws(StoreError) {
    guard !names.isEmpty else { return }
    for name in names {
      let path = "\(directory)/\(name)"
      Directory.remove(path)
      guard Directory.isMissing(path) else {
        throw StoreError(
          .io,
          "The system did not remove \(path), whose write is taken. Check the volume, then try again."
        )
      }
    }
    try sync()
  }

  /// Makes it durable that files are not there any more.
  ///
  /// - Throws: `denied`, `full`, `io`.
  package func sync() throws(StoreError) {
    guard !Directory.isMissing(directory) else { return }
    try Platform.syncDirectory(directory)
  }

  /// Removes what senders that were killed left of mails that they had not put yet.
  ///
  /// - Parameter time: now, in milliseconds since 1970; what is younger than a day may be a living sender's.
  package func removeAbandonedDrafts(at time: Int64) {
    guard !Directory.isMissing(directory) else { return }
    for name in (try? Directory.names(in: directory)) ?? [] where name.hasSuffix(Self.draftEnding) {
      let path = "\(directory)/\(name)"
      guard let written = Directory.modified(path), time / 1000 - written > 24 * 60 * 60 else {
        continue
      }
      Directory.remove(path)
    }
  }

  /// Gives a mail that cannot be taken a name under which it stays.
  ///
  /// - Throws: `denied`, `full`, `io`.
  package func setAside(_ name: String) throws(StoreError) {
    let path = "\(directory)/\(name)"
    try Directory.move(path, to: path + Self.setAsideEnding)
    try sync()
  }
}

extension StorageConfiguration {
  /// The mailbox of the store; nil for storage in memory.
  package var mailbox: Mailbox? { root.map { Mailbox(of: $0) } }
}
