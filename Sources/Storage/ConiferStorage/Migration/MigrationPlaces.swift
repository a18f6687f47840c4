import ConiferKeyValue

/// The directories of a migration, and what their marks say of it.
///
/// The new one is marked from before anything of it is there. When both hold the same, the earlier one is marked as moved,
/// while it is still open: from that moment on the new one counts, and nobody can open the earlier one again.
struct MigrationPlaces {
  /// What is to be done.
  enum State {
    /// There is neither an earlier nor a new storage.
    case nothing
    /// The earlier one is to be copied, and the new one may have a part of it, as its mark says.
    case copying(MigrationMark?)
    /// All was copied, and the new one has its mark yet.
    case copied
    /// The new one counts.
    case settled
  }

  /// The earlier storage's.
  let from: String
  /// The new storage's.
  let to: String
  /// What of the earlier directory is the storage's.
  private let earlierNames: StoreNames
  /// What of the new directory is, or will be, the storage's.
  private let newNames: StoreNames
  /// The new storage's kind.
  private let newKind: String

  /// The directories of two storages.
  ///
  /// - Throws: `invalid` for storages without files, and for directories that are within one another.
  init(_ source: StorageConfiguration, _ target: StorageConfiguration) throws(StoreError) {
    guard let from = source.root, let to = target.root else {
      throw StoreError(.invalid, "Storage in memory cannot be moved: name two that keep files.")
    }
    self.init(
      from: Self.normal(from), to: Self.normal(to), StoreNames(source.files),
      StoreNames(target.files), newKind: target.name)
    guard Self.areApart(self.from, self.to) else { throw overlap }
  }

  private init(
    from: String, to: String, _ earlierNames: StoreNames, _ newNames: StoreNames, newKind: String
  ) {
    (self.from, self.to) = (from, to)
    (self.earlierNames, self.newNames, self.newKind) = (earlierNames, newNames, newKind)
  }

  /// Ends a move out of the new directory, when this one goes back there.
  ///
  /// - Throws: `foreign` when what was there may have no whole copy elsewhere; `busy`, `denied`, `io`.
  func endMoveBefore() throws(StoreError) {
    guard let id = try MovedStore.id(of: to) else { return }
    let hasFiles = try hasFiles
    let before = MigrationPlaces(
      from: to, to: from, newNames, earlierNames, newKind: newKind)
    if try MigrationMark(of: from)?.id == id {
      try before.finish()
    } else if try !before.isOver(id) {
      guard hasFiles else { return }
      throw StoreError(
        .foreign,
        "The storage in \(to) was to be moved elsewhere, and may not have got there: end that move, or remove "
          + "\(to) if nothing of it is missing. Nothing was changed.")
    }
    // Where nothing is left to be moved here, nothing is in the way.
    if let left = try before.removeMoved(), hasFiles {
      throw StoreError(
        .denied,
        "\(left) has the files of a storage that was moved out of it, and that cannot be removed: remove "
          + "them, then start the move again.")
    }
  }

  /// What is to be done.
  ///
  /// - Throws: `foreign` when the source of an unfinished copy is gone or was moved elsewhere, and when
  ///   the new storage is being made by somebody else; `busy`, `denied`, `io`.
  func state() throws(StoreError) -> State {
    if let mark = try MigrationMark(of: to) {
      if try isMoved(mark) { return .copied }
      guard try hasFiles, try !MovedStore.isOver(from) else {
        throw StoreError(
          .foreign,
          "The store in \(to) is not whole, and \(from), from which it is filled, is gone or was moved "
            + "elsewhere: bring that back. Without it, remove \(to) to begin anew.")
      }
      return .copying(mark)
    }
    if try MovedStore.id(of: to) != nil, try !hasFiles { return .nothing }
    // What somebody else is making there, or a later version, does not count.
    if try StoreExchange.finish(to) == nil { try UnfinishedStore.check(to) }
    guard try UnfinishedStore.isNothing(to, newNames) else { return .settled }
    guard try hasFiles else { return .nothing }
    // What the new one held is gone: the writes of before may have been sent since.
    guard let id = try MovedStore.id(of: from) else { return .copying(nil) }
    return try isOver(id) ? .settled : .copying(nil)
  }

  /// Whether anything of the earlier storage is there.
  private var hasFiles: Bool {
    get throws(StoreError) { try !UnfinishedStore.isNothing(from, earlierNames) }
  }

  /// Makes the new directory ours.
  ///
  /// - Throws: `invalid` when its path led into the earlier one, `busy` when somebody else makes a store there, `denied`,
  ///   `full`, `io`.
  func begin() throws(StoreError) -> MigrationMark {
    try Platform.makeDirectory(to)
    guard Self.areApart(from, to) else {
      Directory.removeEmpty(to)
      throw overlap
    }
    // Whoever opens it meanwhile waits for the lock, and is then refused by the mark.
    let lock = try OwnerLock(path: to + "/owner")
    defer { lock.release() }
    guard try UnfinishedStore.isNothing(to, newNames) else {
      throw StoreError(.busy, "A store was just made in \(to): start the move again.")
    }
    let mark = MigrationMark(
      isAlone: try StoreNames.untold.all(in: to) == ["owner"], kind: newKind)
    try mark.write(to: to, from: from)
    return mark
  }

  /// Begins anew with the new storage, of which nothing counts yet.
  ///
  /// - Throws: `denied`, `full`, `io`.
  func restart(_ mark: inout MigrationMark) throws(StoreError) {
    mark.place = CopyPosition()
    try mark.write(to: to, from: from)
    for name in try names(of: mark).all(in: to) where name != UnfinishedStore.file {
      Directory.remove("\(to)/\(name)")
    }
  }

  /// Gives back the space that the new storage takes, unless it counts: the earlier one may have its mark although making
  /// that failed. The caller has the earlier one open.
  func abandon() {
    guard let mark = try? MigrationMark(of: to), (try? MovedStore.id(of: from) != mark.id) == true
    else { return }
    // The space of another volume is of no use to it.
    if mark.place.phase == .done, (try? Directory.areOnOneVolume(from, to)) == false { return }
    _ = UnfinishedStore.remove(to, names(of: mark)) { () throws(StoreError) in
      try MigrationMark(of: to) != nil
    }
  }

  /// What is a copy's. One of another kind than the new storage is known by its names only where nothing else was in its
  /// directory when it was begun.
  private func names(of mark: MigrationMark) -> StoreNames {
    if newNames.areTold, mark.kind == newKind { return newNames }
    return mark.isAlone ? .untold : newNames
  }

  /// Takes the earlier storage out of the way, which was marked as moved, and lets everybody open the new one.
  ///
  /// - Throws: `busy`, `denied`, `io`.
  func finish() throws(StoreError) {
    let lock = try Self.lock(to)
    defer { lock.release() }
    // Who had the lock before may have done it.
    guard let mark = try MigrationMark(of: to), try isMoved(mark) else { return }
    let earlier = try Self.lock(from)
    defer { earlier.release() }
    // Also the mark of a process that ended before it had synced it.
    try Platform.syncDirectory(from, isFull: true)
    // Nobody has either storage open. What fails stays there; no store knows of it.
    try? Mailbox(of: from).move(to: Mailbox(of: to), copies: true)
    try UnfinishedStore.end(to)
    markOver(mark.id)
    if try canBeRenamed {
      _ = try? Directory.moveToFreeName(from, like: MovedStore.aside(from))
    }
  }

  /// Says in the earlier storage that the new one counts, when the process that moved it ended before it had.
  ///
  /// - Throws: `denied`, `io`.
  func settle() throws(StoreError) {
    guard let ended = try MigrationMark(of: to, in: UnfinishedStore.ended) else { return }
    guard let id = try MovedStore.id(of: from), try !MovedStore.isOver(from) else {
      return try forgetEnd()
    }
    guard ended.id == id, let lock = try? Self.lock(from) else { return }
    defer { lock.release() }
    if try MovedStore.id(of: from) == id { markOver(id) }
  }

  /// Says that the new storage counts. A full disk has no room for that, and gets some when the rest is removed; each call
  /// tries again.
  private func markOver(_ id: UInt64) {
    do throws(StoreError) {
      try MovedStore.mark(from, id: id, movedTo: to, isOver: true)
      try forgetEnd()
    } catch { return }
  }

  /// Removes the mark of the new storage that keeps nobody out; what else has its name stays.
  ///
  /// - Throws: `denied`, `io`.
  private func forgetEnd() throws(StoreError) {
    guard try MigrationMark(of: to, in: UnfinishedStore.ended) != nil else { return }
    Directory.remove("\(to)/\(UnfinishedStore.ended)")
  }

  /// Whether the earlier storage, which has a mark with an id, is known to have a whole copy that counts. Another one may have
  /// been made in the new directory since.
  ///
  /// - Throws: `denied`, `io`.
  private func isOver(_ id: UInt64) throws(StoreError) -> Bool {
    if try MovedStore.isOver(from) { return true }
    return try MigrationMark(of: to, in: UnfinishedStore.ended)?.id == id
  }

  /// Whether the earlier directory has nothing but the storage in it. Another one, and one behind a link, stays where it is.
  private var canBeRenamed: Bool {
    get throws(StoreError) {
      let (names, own) = (try Directory.names(in: from), try earlierNames.all(in: from))
      return earlierNames.areTold && !Directory.isLink(from) && names == own
    }
  }

  /// Removes what is left of earlier storages that were moved.
  ///
  /// - Returns: the first directory that could not be removed.
  /// - Throws: `denied`, `io`.
  func removeMoved() throws(StoreError) -> String? {
    let id = try MovedStore.id(of: from)
    guard earlierNames.areTold else { return id == nil ? nil : from }
    var moved = try MovedStore.leftovers(beside: from)
    if let id {
      guard try isOver(id) else { return from }
      moved.append(from)
    }
    let left = moved.filter { path in
      !UnfinishedStore.remove(path, earlierNames) { () throws(StoreError) in
        try MovedStore.id(of: path) != nil
      }
    }
    return left.first
  }

  /// Whether there is an earlier storage that was not moved.
  ///
  /// - Throws: `denied`, `io`.
  func hasEarlier() throws(StoreError) -> Bool {
    guard try hasFiles else { return false }
    return try MovedStore.id(of: from) == nil
  }

  /// Whether the mark of the earlier storage says that it was moved into the one with a mark.
  private func isMoved(_ mark: MigrationMark) throws(StoreError) -> Bool {
    try MovedStore.id(of: from) == mark.id
  }

  private static func lock(_ directory: String) throws(StoreError) -> OwnerLock {
    try UnfinishedStore.making { () throws(StoreError) in
      try OwnerLock(path: directory + "/owner")
    }
  }

  // MARK: Paths

  private var overlap: StoreError {
    StoreError(
      .invalid,
      "\(from) cannot be moved to \(to): name directories that are not within one another.")
  }

  private static func areApart(_ one: String, _ other: String) -> Bool {
    // Also when neither is there yet.
    guard one != other, !one.hasPrefix(other == "/" ? other : other + "/"),
      !other.hasPrefix(one == "/" ? one : one + "/")
    else { return false }
    return !Directory.leads(one, into: other) && !Directory.leads(other, into: one)
  }

  /// A path without empty parts and dots.
  private static func normal(_ path: String) -> String {
    let parts = path.split(separator: "/").filter { $0 != "." }
    let text = parts.joined(separator: "/")
    if path.utf8.first == UInt8(ascii: "/") { return "/" + text }
    return text.isEmpty ? "." : text
  }
}
