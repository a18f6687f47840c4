import ConiferKeyValue
import ConiferLeafStore

/// Looks, after each opening, for records of the queue, the pins and the queries that are gone without a trace: it
/// compares the bytes that the usage of each tree counts with those that are there, and reads no record.
///
/// Small trees are looked at before the opening ends, the others by housekeeping, in slices. What cannot be read is left
/// out: whoever needs it repairs or reports it, and an opening never fails for this look.
final class VanishedRecords {
  /// How many trees an opening looks at, and how many bytes of records that are counted.
  private static let mostTrees = 4
  private static let mostBytes = 64 << 10
  /// How many bytes commits may write while a view is held: a store cannot use the space again that they free.
  private static let slack = 1 << 20
  /// How often a tree is begun anew for that, before it is left to the next opening.
  private static let mostAttempts = 3

  /// How far housekeeping is.
  private enum State {
    case idle
    /// The trees after one are not looked at yet. The first of them was begun some times.
    case waiting(after: TreeID?, attempts: Int)
    case scanning(Scan)
  }

  private let writer: StoreWriter
  private let repairer: Repairer
  private var state = State.idle

  init(_ writer: StoreWriter, _ repairer: Repairer) {
    self.writer = writer
    self.repairer = repairer
  }

  /// Whether something is left to look at.
  var hasWork: Bool {
    if case .idle = state { false } else { true }
  }

  /// Whether a view is held.
  var holdsView: Bool {
    if case .scanning = state { true } else { false }
  }

  /// Closes the view; the next opening looks again.
  func stop() { state = .idle }

  // MARK: At an opening

  /// Looks at the first trees as long as they are small, and leaves the others to housekeeping.
  func lookAtOpening() {
    state = .waiting(after: nil, attempts: 0)
    var findings: [VanishedGroup] = []
    // A failure is ignored: housekeeping looks again.
    try? writer.read { (view) throws(StoreError) in
      findings = []
      var left = Self.mostBytes
      let trees = try Self.trees(view, after: nil, limit: Self.mostTrees + 1)
      for tree in trees.prefix(Self.mostTrees) {
        let found = try Self.readable { () throws(StoreError) in
          try Self.look(at: tree, view, &left)
        }
        guard let found else { return }
        findings += found
        state = .waiting(after: tree, attempts: 0)
      }
      if trees.count <= Self.mostTrees { state = .idle }
    }
    for finding in findings { tell(finding) }
  }

  /// Looks at a tree.
  ///
  /// - Parameter left: how many bytes may be looked at.
  /// - Returns: nil where they do not suffice.
  private static func look(
    at tree: TreeID, _ view: any OrderedView, _ left: inout Int
  ) throws(StoreError) -> [VanishedGroup]? {
    guard let usage = try Self.usage(view, tree) else { return [] }
    let counted = RecordGroup.allCases.reduce(0) { $0 + $1.bytes(in: usage) }
    guard counted <= left else { return nil }
    left -= counted
    var findings: [VanishedGroup] = []
    for group in RecordGroup.allCases {
      let most = group.bytes(in: usage) + mostBytes
      let found = try group.bytes(of: tree, in: view, atMost: most)
      // Then there is more than may be repaired here.
      guard found <= most else { return nil }
      if let finding = try finding(view, tree, group, usage, found) { findings.append(finding) }
    }
    return findings
  }

  // MARK: In housekeeping

  /// A look at the groups of a tree in slices, in one view.
  private struct Scan {
    let frozen: SnapshotReference
    let tree: TreeID
    /// The tree before it.
    let previous: TreeID?
    let usage: UsageRow
    /// How often the tree was begun, this time included.
    let attempts: Int
    private(set) var group: RecordGroup
    private var spaces: [SpaceScan]
    private(set) var found = 0
    /// About how many bytes commits have written since the view was opened.
    var written: Int

    init(
      _ frozen: SnapshotReference, _ tree: TreeID, after previous: TreeID?, _ usage: UsageRow,
      attempts: Int, written: Int = 0
    ) {
      (self.frozen, self.tree, self.previous, self.usage) = (frozen, tree, previous, usage)
      (self.attempts, self.written) = (attempts, written)
      group = .queue
      spaces = RecordGroup.queue.spaces.map { SpaceScan($0, tree) }
    }

    /// Counts the next records.
    ///
    /// - Returns: false when the group is counted.
    mutating func step() throws(StoreError) -> Bool {
      guard var space = spaces.first else { return false }
      var bytes = 0
      try space.sizes(frozen.snapshot) { key, size in
        bytes.add(RecordGroup.bytes(key.count, size))
      }
      found.add(bytes)
      if space.isDone { spaces.removeFirst() } else { spaces[0] = space }
      return true
    }

    /// Goes on with the next group.
    ///
    /// - Returns: false after the last one.
    mutating func goOn() -> Bool {
      let groups = RecordGroup.allCases
      guard let index = groups.firstIndex(of: group), index + 1 < groups.count else {
        return false
      }
      group = groups[index + 1]
      (spaces, found) = (group.spaces.map { SpaceScan($0, tree) }, 0)
      return true
    }
  }

  /// Looks at the next records. What fails is left to the next opening.
  func slice() {
    switch state {
    case .idle: return
    case .waiting(let previous, let attempts):
      state = .idle
      try? begin(after: previous, attempts: attempts)
    case .scanning(var scan):
      state = .waiting(after: scan.tree, attempts: 0)
      try? step(&scan)
    }
  }

  /// Called for each change: a view is not held for long beside commits.
  func didChange(_ change: StoreChange) {
    guard case .scanning(var scan) = state else { return }
    scan.written.add(change.bytes)
    let isLast = scan.attempts >= Self.mostAttempts
    state =
      scan.written < Self.slack
      ? .scanning(scan)
      : .waiting(after: isLast ? scan.tree : scan.previous, attempts: isLast ? 0 : scan.attempts)
  }

  private func begin(after previous: TreeID?, attempts: Int) throws(StoreError) {
    let frozen = SnapshotReference(try writer.leaves.openSnapshot())
    try begin(frozen, after: previous, attempts: attempts, written: 0)
  }

  /// Begins the next tree in a view.
  private func begin(
    _ frozen: SnapshotReference, after previous: TreeID?, attempts: Int, written: Int
  ) throws(StoreError) {
    guard let tree = try Self.trees(frozen.snapshot, after: previous, limit: 1).first else {
      return state = .idle
    }
    state = .waiting(after: tree, attempts: 0)
    let usage = try Self.readable { () throws(StoreError) in
      try Self.usage(frozen.snapshot, tree)
    }
    guard let usage else { return }
    state = .scanning(
      Scan(frozen, tree, after: previous, usage, attempts: attempts + 1, written: written))
  }

  private func step(_ scan: inout Scan) throws(StoreError) {
    if try scan.step() { return state = .scanning(scan) }
    let finding = try Self.finding(
      scan.frozen.snapshot, scan.tree, scan.group, scan.usage, scan.found)
    if let finding { tell(finding) }
    if scan.goOn() { return state = .scanning(scan) }
    try begin(scan.frozen, after: scan.tree, attempts: 0, written: scan.written)
  }

  // MARK: What is counted, and what is there

  /// What a closure reads; nil where a record of the tree cannot be read.
  private static func readable<R>(
    _ body: () throws(StoreError) -> R?
  ) throws(StoreError) -> R? {
    do throws(StoreError) {
      return try body()
    } catch {
      guard [.damaged, .wrongKey, .unsupported, .newerFormat].contains(error.code) else {
        throw error
      }
      return nil
    }
  }

  /// The numbers of trees after one, oldest first.
  private static func trees(
    _ view: any OrderedView, after tree: TreeID?, limit: Int
  ) throws(StoreError) -> [TreeID] {
    let keys = try view.keys(
      Spaces.system, prefix: SystemKey.trees, after: tree.map { SystemKey.tree($0).bytes },
      limit: limit)
    return keys.map { StoreKey.tree(Bytes($0.suffix(4))) }
  }

  /// What a tree's records are counted to take; nil where that is not exact, or cannot be read.
  private static func usage(
    _ view: any OrderedView, _ tree: TreeID
  ) throws(StoreError) -> UsageRow? {
    if try MendingMarker.isThere(view, tree) { return nil }
    return try undamaged { () throws(StoreError) in try UsageRow.read(view, tree) }
  }

  /// What a group lacks; nil for nothing, and where the keys of some records are missing, which may have been removed.
  private static func finding(
    _ view: any OrderedView, _ tree: TreeID, _ group: RecordGroup, _ usage: UsageRow, _ found: Int
  ) throws(StoreError) -> VanishedGroup? {
    let counted = group.bytes(in: usage)
    guard found != counted, try !group.isLocked(tree, in: view) else { return nil }
    return VanishedGroup(tree: tree, group: group, counted: counted, found: found)
  }

  /// Reports a group first, then makes the rest of it consistent. What fails is found again by the next opening.
  private func tell(_ finding: VanishedGroup) {
    do throws(StoreError) {
      try repairer.retrying { (_) throws(StoreError) in
        try repairer.change(.power) { (repair) throws(StoreError) in try repair.report(finding) }
      }
      try repairer.retrying { (_) throws(StoreError) in
        try repairer.change(.power) { (repair) throws(StoreError) in try repair.mend(finding) }
      }
    } catch {
      return
    }
  }
}
