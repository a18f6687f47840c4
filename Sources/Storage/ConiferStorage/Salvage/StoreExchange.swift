import ConiferKeyValue

/// Replaces the files of a damaged store by those of a new one; the old files go into a directory
/// beside the store.
///
/// Files are renamed one by one. The mark of an unfinished store says whether old files are being
/// moved out or new ones in, so that the next opening can continue after a process was killed
/// between two renames. Nothing is deleted except the directory of the salvage, once the new
/// store's files were moved out of it.
struct StoreExchange {
  private enum Phase: String {
    /// The old files are being moved out of the store's directory.
    case movingOut = "aside"
    /// The new ones are being moved in.
    case movingIn = "place"
  }

  /// Files that stay where they are.
  private static let kept: Set<String> = [
    "owner", UnfinishedStore.file, UnfinishedStore.draft, UnfinishedStore.ended,
  ]

  let location: String
  /// The directory for the old files.
  let aside: String
  /// The phase that another process had reached, according to the mark; nil for a new exchange.
  private let reached: Phase?

  /// The directory in which a store is salvaged.
  static func salvageDirectory(_ location: String) -> String { location + ".salvage" }

  /// The name for the files that a salvage of a place sets aside, by the salvage's number.
  private static func aside(_ location: String, _ number: Int) -> String {
    location + (number == 1 ? ".damaged" : ".damaged-\(number)")
  }

  /// The directories with the files of a place's damaged stores.
  ///
  /// - Throws: `denied`, `io`.
  static func setAside(_ location: String) throws(StoreError) -> [String] {
    try Directory.series(like: aside(location, 1))
  }

  /// The number in the name for the old files: the number of earlier salvages plus one.
  let number: Int

  /// A new exchange, with an unused name for the old files.
  ///
  /// - Throws: `foreign` when there is none.
  init(_ location: String) throws(StoreError) {
    self.location = location
    reached = nil
    var number = 1
    while !Directory.isMissing(Self.aside(location, number)) {
      number += 1
      guard number < 10_000 else {
        throw StoreError(
          .foreign,
          "There is no free name such as \(Self.aside(location, 1)) for the files of a damaged store. "
            + "Make room, or use conifer salvage.")
      }
    }
    aside = Self.aside(location, number)
    self.number = number
  }

  /// Has the salvages of a store count for the place that it moves to, by empty directories of their names: each may have lost
  /// numbers of writes, and the next one begins above all of them.
  ///
  /// - Throws: `foreign`, `denied`, `full`, `io`.
  static func count(salvagesOf location: String, at other: String) throws(StoreError) {
    for number in 1..<(try StoreExchange(location).number) {
      _ = try Directory.make(aside(other, number))
    }
  }

  /// The exchange that a store's mark describes, or nil.
  private init?(unfinished location: String) throws(StoreError) {
    guard let lines = try UnfinishedStore.lines(location), lines.count > 2,
      let phase = Phase(rawValue: lines[1]), !lines[2].isEmpty
    else { return nil }
    self.location = location
    reached = phase
    number = 1
    aside = Platform.parent(of: location) + "/" + lines[2]
  }

  /// Finishes an exchange whose process was killed.
  ///
  /// - Returns: where the old files lie; nil when there was none.
  /// - Throws: `busy`, `denied`, `full`, `io`.
  static func finish(_ location: String) throws(StoreError) -> String? {
    guard try StoreExchange(unfinished: location) != nil else { return nil }
    let lock = try UnfinishedStore.making { () throws(StoreError) in
      try OwnerLock(path: location + "/owner")
    }
    defer { lock.release() }
    // The previous holder of the lock may have finished it.
    guard let exchange = try StoreExchange(unfinished: location) else { return nil }
    try exchange.run()
    return exchange.aside
  }

  /// Refuses a store whose files cannot be renamed into a directory beside it.
  ///
  /// - Throws: `unsupported`, `denied`, `io`.
  func requireOneVolume() throws(StoreError) {
    guard try !Directory.areOnOneVolume(location, Platform.parent(of: location)) else { return }
    throw StoreError(
      .unsupported,
      "The store in \(location) is damaged, and its files cannot be set aside: the directory is a volume "
        + "of its own. Use conifer salvage; nothing was changed.")
  }

  /// Exchanges the files. The directory of the salvage must hold a complete new store, and the
  /// caller must hold the store's lock.
  ///
  /// - Throws: `foreign` when the name for the old files is taken by now, `denied`, `full`, `io`.
  func run() throws(StoreError) {
    let directory = Self.salvageDirectory(location)
    if reached != .movingIn {
      try mark(.movingOut)
      guard try Directory.make(aside) || reached == .movingOut else {
        try UnfinishedStore.finish(location)
        throw StoreError(
          .foreign,
          "\(aside) was made while the store was being salvaged: open it again. Nothing was changed."
        )
      }
      try moveFiles(from: location, to: aside)
      try mark(.movingIn)
    }
    let made = directory + "/store"
    if !Directory.isMissing(made) { try moveFiles(from: made, to: location) }
    Directory.remove(directory)
    try UnfinishedStore.finish(location)
  }

  private func mark(_ phase: Phase) throws(StoreError) {
    let name = aside.split(separator: "/").last.map(String.init) ?? ""
    try UnfinishedStore.mark(
      location,
      [
        "a damaged store is being replaced there; open it as a StorageConfiguration, or with the "
          + "tool, which goes on with that",
        phase.rawValue, name,
      ])
  }

  private func moveFiles(from old: String, to new: String) throws(StoreError) {
    for name in try Directory.names(in: old) where !Self.kept.contains(name) {
      try Directory.move("\(old)/\(name)", to: "\(new)/\(name)")
    }
    try Platform.syncDirectory(new)
    try Platform.syncDirectory(old)
  }
}
