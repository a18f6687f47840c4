import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// The reports of the killed process: each commit's number and its write's number.
struct Acknowledged {
  /// The number of the last reported commit; all before it were reported too.
  private(set) var commits = 0
  /// The number of the queued write of each commit.
  private(set) var writes: [UInt64] = []

  mutating func add(_ line: String) {
    let words = line.split(separator: " ")
    guard words.count == 2, let number = Int(words[0]), let write = UInt64(words[1]) else { return }
    commits = number
    writes.append(write)
  }
}

/// The state after the kill, compared with what was acknowledged before it.
struct Proof {
  /// The commits whose effect is there; at least those that were acknowledged.
  let found: Int

  /// Compares.
  ///
  /// - Throws: `Failure` with the status `disproved` when the store is no prefix of the commits, or
  ///   lacks one that was acknowledged.
  init(
    _ view: any StorageView, _ tree: TreeID, _ acknowledged: Acknowledged, pinned: Path
  ) throws {
    let live = try view.node(tree, DemoWriterCommand.place)
    for (index, child) in live.children.enumerated() {
      let number = index + 1
      try Self.require(
        child.key == Key(number) && child.node == DemoWriterCommand.node(number),
        "commit \(number) left a hole in the cache: \(child.key) is there instead")
    }
    let lane = Lane(tree: tree, identity: DemoWriterCommand.identity)
    var queued: [UInt64] = []
    try view.forEachWrite(lane, rejected: false) { write in
      guard DemoWriterCommand.place.contains(write.payload.path) else { return }
      queued.append(write.id.rawValue)
      let number = queued.count
      let path = DemoWriterCommand.place.appending(Key(number))
      let expected = [WriteContent.Change(path, DemoWriterCommand.node(number))]
      try Self.require(
        WriteContent(write.payload)?.changes == expected,
        "write \(write.id.rawValue) is not what was queued")
    }
    found = live.childCount
    try Self.require(
      queued.count == found, "the cache has \(found) commits and the queue \(queued.count)")
    try Self.require(
      found >= acknowledged.commits,
      "\(acknowledged.commits) commits were acknowledged and \(found) found")
    try Self.require(
      acknowledged.writes.elementsEqual(queued.prefix(acknowledged.writes.count)),
      "the numbers of the queued writes are not those that were acknowledged")
    let waiting = try view.totals(lane).pending
    try Self.require(waiting == found + 3, "the three writes from before the kill are not there")
    try Self.require(
      try view.pins(tree).contains(Pin(tree: tree, path: pinned)), "\(pinned) is not pinned")
  }

  private static func require(_ holds: Bool, _ otherwise: String) throws {
    guard !holds else { return }
    throw Failure("missing", .disproved, "Something acknowledged is missing: \(otherwise).")
  }
}
