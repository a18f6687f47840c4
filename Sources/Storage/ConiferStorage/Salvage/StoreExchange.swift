import ConiferKeyValue

/// Puts a new store's files in the place of a damaged one's, which go into a directory beside it.
///
/// Every step is a rename, and the mark of an unfinished store says how far it has come: a process that
/// dies between two steps leaves nothing that the next opening does not go on with. Nothing is deleted
/// but the workshop, once all that is of use has left it.
struct StoreExchange {
  private enum Phase: String {
    /// The old files move away.
    case aside
    /// The new ones move in.
    case place
  }

  /// Files that stay where they are.
  private static let kept: Set<String> = [
    "owner", UnfinishedStore.file, UnfinishedStore.file + ".new",
  ]

  let location: String
  /// The directory for the old files.
  let aside: String

  /// The workshop of a store's salvage.
  static func workshop(_ location: String) -> String { location + ".salvage" }

  /// An exchange that is to begin, with a name for the old files that nothing bears.
  init(_ location: String) {
    self.location = location
    let base = location + ".damaged"
    var (name, number) = (base, 2)
    while !Directory.isMissing(name) {
      name = "\(base)-\(number)"
      number += 1
    }
    aside = name
  }

  /// The exchange that a store's mark tells of, or nil.
  private init?(unfinished location: String) {
    guard let lines = UnfinishedStore.lines(location), lines.count > 2,
      Phase(rawValue: lines[1]) != nil, !lines[2].isEmpty
    else { return nil }
    self.location = location
    aside = Platform.parent(of: location) + "/" + lines[2]
  }

  /// Goes on with an exchange that a process did not live to finish.
  ///
  /// - Returns: where the old files lie; nil when there was none.
  /// - Throws: `busy`, `denied`, `full`, `io`.
  static func finish(_ location: String) throws(StoreError) -> String? {
    guard StoreExchange(unfinished: location) != nil else { return nil }
    let lock = try UnfinishedStore.making { () throws(StoreError) in
      try OwnerLock(path: location + "/owner")
    }
    defer { lock.release() }
    // Whoever held the lock may have finished it.
    guard let exchange = StoreExchange(unfinished: location) else { return nil }
    try exchange.run()
    return exchange.aside
  }

  /// Exchanges the files; the workshop holds a whole new store, and the caller the store's lock.
  ///
  /// - Throws: `denied`, `full`, `io`.
  func run() throws(StoreError) {
    let workshop = Self.workshop(location)
    if UnfinishedStore.lines(location)?.dropFirst().first != Phase.place.rawValue {
      try mark(.aside)
      _ = try Directory.make(aside)
      try moveFiles(from: location, to: aside)
      try mark(.place)
    }
    let made = workshop + "/store"
    if !Directory.isMissing(made) { try moveFiles(from: made, to: location) }
    Directory.remove(workshop)
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
