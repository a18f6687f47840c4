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
  ///   leaves it alone, whichever link leads to the store.
  package init(of root: String) { directory = Directory.resolved(root) + ".mail" }

  private static let ending = ".mail"
  private static let draftEnding = ".mail.new"
  private static let setAsideEnding = ".damaged"
  /// A mail's number is at least its time, in milliseconds since 1970, shifted so far.
  static let timeShift = 10
  /// How old a draft of a living sender may be, in milliseconds.
  private static let oldestDraft: Int64 = 24 * 60 * 60 * 1000
  /// No mail has a higher number.
  static let lastNumber: UInt64 = 1 << 62
  /// No clock gives a higher number, nor counting on from one: a file that has one was put there by somebody else, and
  /// mails that had to be behind it would soon find no number.
  static let highestPlausibleNumber: UInt64 = 1 << 61

  /// The name of a mail's file.
  static func name(_ number: UInt64, of sender: UInt64) -> String {
    "\(number.hex)-\(sender.hex)\(ending)"
  }

  /// The number and the sender in a file's name; nil for other files.
  private static func parts(_ name: String) -> (number: UInt64, sender: UInt64)? {
    guard name.hasSuffix(ending) else { return nil }
    let parts = name.dropLast(ending.count).split(
      separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let number = UInt64(parts[0], radix: 16), number <= lastNumber,
      let sender = UInt64(parts[1], radix: 16), Self.name(number, of: sender) == name
    else { return nil }
    return (number, sender)
  }

  /// Who put a mail.
  ///
  /// - Parameter name: one of ``files()``.
  package static func sender(of name: String) -> UInt64? { parts(name)?.sender }

  // MARK: Sending

  /// The highest plausible number of a mail that is there; 0 when there is none.
  ///
  /// - Throws: `denied`, `io`.
  func highestNumber() throws(StoreError) -> UInt64 {
    guard !isMissing else { return 0 }
    let numbers = try Directory.names(in: directory).lazy.compactMap { Self.parts($0)?.number }
    return numbers.filter { $0 <= Self.highestPlausibleNumber }.max() ?? 0
  }

  /// Puts a mail, durably, whole or not at all.
  ///
  /// - Parameter syncsParent: whether the mailbox's own name is made durable too: a killed process may have left it so.
  /// - Throws: `tooLarge`, `invalid` (for a user whom no lane can be of), `foreign` (something else has the mailbox's
  ///   name), `denied`, `full`, `io`; it was not put then, but that the owner may have found it where only its name could not be made durable.
  func put(_ mail: Mail, as name: String, syncsParent: Bool = false) throws(StoreError) {
    if let fault = Lane.fault(ofIdentity: mail.address.identity) { throw fault }
    let bytes = mail.bytes(as: name)
    guard bytes.count <= Mail.largest else {
      throw StoreError(
        .tooLarge,
        "A write of \(bytes.count) bytes is above the \(Mail.largest) that one mail takes: split it."
      )
    }
    try Platform.makeDirectory(directory)
    if syncsParent { try Platform.syncDirectory(Platform.parent(of: directory)) }
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
    guard !isMissing else { return [] }
    return try Directory.names(in: directory).filter { Self.parts($0) != nil }
  }

  /// The names of mails of which no earlier one of the same sender is missing, in their order.
  ///
  /// A listing beside a sender may have a mail without the one before it. A second listing has all that were there
  /// when the first one ended.
  ///
  /// - Throws: `denied`, `io`.
  package func orderedFiles() throws(StoreError) -> [String] {
    var newest: [UInt64: UInt64] = [:]
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
  /// - Parameter isWanted: whether the mails of an address are read: of others no more than that is.
  package func read(
    _ name: String, where isWanted: (Mail.Address) -> Bool = { _ in true }
  ) -> Mail.Reading? {
    let file: RegularFile
    do throws(RegularFile.Failure) {
      file = try RegularFile("\(directory)/\(name)")
    } catch {
      return error == .missing ? nil : .unreadable
    }
    guard let beginning = file.bytes(limit: Mail.Address.longest + 8) else { return .unreadable }
    if let address = Mail.address(beginning, as: name), !isWanted(address) {
      return .elsewhere(address)
    }
    guard file.length <= Mail.largest else {
      return Mail.isNewer(beginning) ? .newer(beginning.count) : .damaged(beginning.count)
    }
    guard let bytes = file.length == beginning.count ? beginning : file.bytes(limit: file.length)
    else { return .unreadable }
    return Mail.read(bytes, as: name)
  }

  /// Removes mails, durably: also those behind one that cannot be removed.
  ///
  /// - Throws: `denied`, `full`, `io`; some may be there then.
  package func remove(_ names: [String]) throws(StoreError) {
    guard !names.isEmpty else { return }
    var left: [String] = []
    for name in names {
      let path = "\(directory)/\(name)"
      Directory.remove(path)
      if !Directory.isMissing(path) { left.append(name) }
    }
    try sync()
    try require(left, "were not removed by the system")
  }

  /// - Parameter left: what something could not be done with.
  /// - Throws: `io`, unless there is none.
  private func require(_ left: [String], _ words: String) throws(StoreError) {
    guard let first = left.first else { return }
    throw StoreError(
      .io,
      "\(left.count) of the files in \(directory) \(words), such as \(first). Check that the app may read and write "
        + "there now, and the volume; then try again.")
  }

  /// Makes it durable that files are not there any more.
  ///
  /// - Throws: `denied`, `full`, `io`.
  package func sync() throws(StoreError) {
    guard !isMissing else { return }
    try Platform.syncDirectory(directory, isFull: true)
  }

  /// Whether there is surely no mailbox; what else has its name is none.
  package var isMissing: Bool {
    Directory.isMissing(directory) || Directory.isOther(directory)
  }

  /// Whether a mail is surely not there, as far as its mailbox is.
  package func isMissing(_ name: String) -> Bool { Directory.isMissing("\(directory)/\(name)") }

  /// Removes what senders that were killed left of mails that they had not put yet.
  ///
  /// - Parameter time: now, in milliseconds since 1970; what is younger than a day, as its number says, may be a living
  ///   sender's, which is told when it is not there any more.
  package func removeAbandonedDrafts(at time: Int64) {
    guard !isMissing else { return }
    for name in (try? Directory.names(in: directory)) ?? [] where name.hasSuffix(Self.draftEnding) {
      let number = Self.parts(String(name.dropLast(Self.draftEnding.count)) + Self.ending)?.number
      guard let number,
        time - Int64(number >> Self.timeShift) > Self.oldestDraft
      else { continue }
      Directory.remove("\(directory)/\(name)")
    }
  }

  /// Gives mails that cannot be taken names under which they stay: also those behind one that cannot be renamed.
  ///
  /// - Returns: how many have such a name now, and why that is not durable, or not so of all: `denied`, `full`, `io`.
  package func setAside(_ names: [String]) -> (count: Int, error: StoreError?) {
    guard !names.isEmpty else { return (0, nil) }
    var left: [String] = []
    for name in names {
      let path = "\(directory)/\(name)"
      do throws(StoreError) {
        try Directory.move(path, to: path + Self.setAsideEnding)
      } catch { if !isMissing(name) { left.append(name) } }
    }
    let count = names.count - left.count
    do throws(StoreError) {
      try sync()
      try require(left, "could not be set aside")
      return (count, nil)
    } catch { return (count, error) }
  }

  // MARK: Moving

  /// Puts all mails into the mailbox of another store, those of a sender in their order, and removes this one when nothing
  /// is left in it. No store may have marks of them. A mail that cannot be moved keeps those that its sender left later.
  ///
  /// - Parameter copies: whether mails are copied to another volume; only while nobody takes any there, as a process that
  ///   ends meanwhile has put them in both.
  /// - Throws: `foreign` (something else has the other mailbox's name), `denied`, `full`, `io`; some may be here then.
  package func move(to other: Mailbox, copies: Bool) throws(StoreError) {
    let aside = try allFiles().filter { !Self.isMail($0) }
    let names = try orderedFiles() + aside
    guard !isMissing else { return }
    var failure: StoreError?
    var held: Set<UInt64> = []
    if !names.isEmpty {
      try Platform.makeDirectory(other.directory)
      try Platform.syncDirectory(Platform.parent(of: other.directory))
    }
    for name in names {
      guard let sender = Self.sender(of: Self.mailName(name)), !held.contains(sender) else {
        continue
      }
      do throws(StoreError) { try move(name, to: other, copies: copies) } catch {
        failure = failure ?? error
        held.insert(sender)
      }
    }
    if !names.isEmpty {
      try other.sync()
      try sync()
    }
    if let failure { throw failure }
    Directory.removeEmpty(directory)
  }

  private func move(_ name: String, to other: Mailbox, copies: Bool) throws(StoreError) {
    let (path, new) = ("\(directory)/\(name)", "\(other.directory)/\(name)")
    do throws(StoreError) {
      return try Directory.move(path, to: new)
    } catch {
      guard copies, (try? Directory.areOnOneVolume(directory, other.directory)) == false,
        let file = try? RegularFile(path), file.length <= Mail.largest,
        let bytes = file.bytes(limit: file.length)
      else { throw error }
      try Directory.put(bytes, at: new)
      Directory.remove(path)
      guard Directory.isMissing(path) else {
        Directory.remove(new)
        throw error
      }
    }
  }

  // MARK: Giving up

  /// Whose a file is, by its beginning.
  package enum Holder {
    case of(Mail.Address)
    /// Its address is damaged, or it is no regular file.
    case nobody
    /// The system does not let this process read it now.
    case unreadable
    case missing
  }

  /// Whose a mail is, of whatever format.
  ///
  /// - Parameter file: one of ``files()``, or what was set aside under its name.
  package func holder(of file: String) -> Holder {
    let found: RegularFile
    do throws(RegularFile.Failure) {
      found = try RegularFile("\(directory)/\(file)")
    } catch {
      switch error {
      case .missing: return .missing
      case .irregular: return .nobody
      case .unreadable: return .unreadable
      }
    }
    guard let beginning = found.bytes(limit: Mail.Address.longest + 8) else { return .unreadable }
    return Mail.address(beginning, as: Self.mailName(file)).map { .of($0) } ?? .nobody
  }

  /// The name that a file was put under.
  private static func mailName(_ file: String) -> String {
    file.hasSuffix(setAsideEnding) ? String(file.dropLast(setAsideEnding.count)) : file
  }

  /// The names of the mails that are there, and of those that were set aside.
  ///
  /// - Throws: `denied`, `io`.
  package func allFiles() throws(StoreError) -> [String] {
    guard !isMissing else { return [] }
    return try Directory.names(in: directory).filter { Self.parts(Self.mailName($0)) != nil }
  }

  /// Whether a file is a mail, and not set aside.
  ///
  /// - Parameter file: one of ``allFiles()``.
  package static func isMail(_ file: String) -> Bool { parts(file) != nil }

  /// Removes the files of some holders, durably, also those behind one that cannot be removed.
  ///
  /// - Parameters:
  ///   - files: of ``allFiles()``.
  ///   - isMeant: whose; not asked about what cannot be read.
  /// - Throws: `denied`, `full`, `io`, also for what cannot be read and so may be meant; some may be there then.
  package func removeAll(
    _ files: [String], where isMeant: (Holder) -> Bool
  ) throws(StoreError) {
    var (meant, unreadable): ([String], [String]) = ([], [])
    for file in files {
      switch holder(of: file) {
      case .missing: continue
      case .unreadable: unreadable.append(file)
      case let known: if isMeant(known) { meant.append(file) }
      }
    }
    try remove(meant)
    try require(unreadable, "cannot be read, so that it is not known whose they are")
  }
}

extension StorageConfiguration {
  /// The mailbox of the store; nil for storage in memory.
  package var mailbox: Mailbox? { root.map { Mailbox(of: $0) } }
}
