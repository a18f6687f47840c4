package import ConiferKeyValue

/// What a store says of a mail that may still be there: it is not to be queued any more.
///
/// It is kept as metadata of the tree, under the name of the mail's file.
package enum MailMark: Equatable {
  /// Its write is in the queue, or was.
  case queued
  /// The app gave up what was left for these users. Of a file that cannot be read nobody knows yet whose it is.
  case givenUp([String])

  /// What the names of the metadata begin with.
  private static let prefix = "conifer.mail."
  private static let againCode: UInt8 = 1
  private static let givenUpCode: UInt8 = 2

  /// The mark of a mail once what was left for a user is given up too.
  package static func givenUp(_ identity: String, _ known: MailMark?) -> MailMark {
    guard case .givenUp(let others) = known else { return .givenUp([identity]) }
    let isKnown = others.contains { $0.utf8.elementsEqual(identity.utf8) }
    return .givenUp(isKnown ? others : others + [identity])
  }

  /// The edit that stores a mark, or that forgets it.
  package static func edit(_ mark: MailMark?, of name: String, in tree: TreeID) -> StorageEdit {
    .setMetadata(tree, prefix + name, mark?.bytes)
  }

  /// The edit that stores again that a mail is not to be queued. It is another one than the first, so that a sync that
  /// covers it covers the commit of a process that died too.
  package static func editAgain(of name: String, in tree: TreeID) -> StorageEdit {
    .setMetadata(tree, prefix + name, [againCode])
  }

  /// The marks of mails.
  ///
  /// - Throws: as the view's reads.
  package static func marks(
    of names: some Sequence<String>, in view: any StorageView, _ tree: TreeID
  ) throws(StoreError) -> [String: MailMark] {
    var marks: [String: MailMark] = [:]
    for name in names {
      if let bytes = try view.metadata(tree, prefix + name) { marks[name] = MailMark(bytes) }
    }
    return marks
  }

  /// The names of all mails that have a mark.
  ///
  /// - Throws: as the view's reads.
  package static func names(
    in view: any StorageView, _ tree: TreeID
  ) throws(StoreError) -> [String] {
    var names: [String] = []
    while true {
      let window = try view.metadataNames(tree, after: names.last ?? prefix, limit: 100)
      let own = window.prefix { $0.hasPrefix(prefix) }
      names += own
      if own.count < 100 { return names.map { String($0.dropFirst(prefix.count)) } }
    }
  }

  /// The names of mails that have a mark, and are surely not in their mailbox any more; none while that is not there, as
  /// it may come back.
  ///
  /// - Throws: what the storage does, and `denied`, `full`, `io`.
  package static func namesOfRemoved(
    _ mailbox: Mailbox, _ backend: any StorageBackend, _ tree: TreeID
  ) throws(StoreError) -> [String] {
    let known = try backend.read { (view) throws(StoreError) in try names(in: view, tree) }
    guard !known.isEmpty, !mailbox.isMissing else { return [] }
    // A listing beside other processes may miss some.
    let gone = known.filter { mailbox.isMissing($0) }
    if !gone.isEmpty { try mailbox.sync() }
    return gone
  }

  private var bytes: Bytes {
    switch self {
    case .queued: []
    // No identity has a zero byte.
    case .givenUp(let users):
      [Self.givenUpCode] + users.map { Bytes($0.utf8) }.joined(separator: [0])
    }
  }

  private init(_ bytes: Bytes) {
    if bytes.first == Self.givenUpCode {
      let users = bytes.dropFirst().split(separator: 0, omittingEmptySubsequences: false)
      self = .givenUp(users.map { String(decoding: $0, as: UTF8.self) })
    } else {
      self = .queued
    }
  }
}
