import ConiferKeyValue
import ConiferLeafStore

/// Looks, after each opening, for records of the queue, the pins and the queries that are gone although nothing that is
/// read is damaged: it compares the bytes that the usage of each tree counts with those that are there, and reads no record.
///
/// Small trees are looked at before the opening ends, the others by housekeeping, in slices. What cannot be read is left
/// out: whoever needs it repairs or reports it, and an opening never fails for this look. A tree that is to be mended is
/// left out too, since its counts are an estimate.
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

  /// Looks at those of the first trees that are small, and leaves all to housekeeping if there are others.
  func lookAtOpening() {
    state = .waiting(after: nil, attempts: 0)
    var losses: [RecordLoss] = []
    var isWhole = false
    // A failure is ignored: housekeeping looks again.
    try? writer.read { (view) throws(StoreError) in
      (losses, isWhole) = ([], false)
      var left = Self.mostBytes
      let trees = try Self.trees(view, after: nil, limit: Self.mostTrees + 1)
      isWhole = trees.count <= Self.mostTrees
      for tree in trees.prefix(Self.mostTrees) {
        let found = try Self.readable { () throws(StoreError) in
          try Self.look(at: tree, view, &left)
        }
        if let found { losses += found } else { isWhole = false }
      }
    }
    for loss in losses { tell(loss) }
    if isWhole { state = .idle }
  }

  /// Looks at a tree.
  ///
  /// - Parameter left: how many bytes may be looked at.
  /// - Returns: nil where they do not suffice.
  private static func look(
    at tree: TreeID, _ view: any OrderedView, _ left: inout Int
  ) throws(StoreError) -> [RecordLoss]? {
    let usage: UsageRow
    switch try counts(view, tree) {
    case .unknown: return []
    case .gone: return [RecordLoss(tree: tree, what: .counts)]
    case .exact(let row): usage = row
    }
    let counted = RecordGroup.bytes(in: usage)
    guard counted <= left else { return nil }
    left -= counted
    var comparison = GroupComparison(tree, usage)
    var rest = counted + mostBytes
    let prefix = StoreKey.prefix(tree)
    for space in RecordGroup.allCases.flatMap(\.spaces) {
      var bytes = 0
      try view.walkKeys(space, .atOrAfter(prefix)) { key, size in
        guard key.starts(with: prefix), bytes <= rest else { return .stop }
        bytes.add(RecordGroup.bytes(key.byteCount, size))
        return .next
      }
      // There is more than may be repaired before an opening ends.
      guard bytes <= rest else { return nil }
      rest -= bytes
      comparison.add(bytes, space)
    }
    return comparison.losses
  }

  // MARK: In housekeeping

  /// A look at a tree in slices, in one view.
  private struct Scan {
    let frozen: SnapshotReference
    let tree: TreeID
    /// The tree before it.
    let previous: TreeID?
    /// How often the tree was begun, this time included.
    let attempts: Int
    private var spaces: [SpaceScan]
    private(set) var comparison: GroupComparison
    /// About how many bytes commits have written since the view was opened.
    var written: Int

    init(
      _ frozen: SnapshotReference, _ tree: TreeID, after previous: TreeID?, _ usage: UsageRow,
      attempts: Int, written: Int
    ) {
      (self.frozen, self.tree, self.previous) = (frozen, tree, previous)
      (self.attempts, self.written) = (attempts, written)
      comparison = GroupComparison(tree, usage)
      spaces = RecordGroup.allCases.flatMap(\.spaces).map { SpaceScan($0, tree) }
    }

    /// Counts the next records.
    ///
    /// - Returns: false when all are counted.
    mutating func step() throws(StoreError) -> Bool {
      guard var space = spaces.first else { return false }
      var bytes = 0
      try space.sizes(frozen.snapshot) { key, size in
        bytes.add(RecordGroup.bytes(key.count, size))
      }
      comparison.add(bytes, space.space)
      if space.isDone { spaces.removeFirst() } else { spaces[0] = space }
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
    let counts = try Self.readable { () throws(StoreError) in
      try Self.counts(frozen.snapshot, tree)
    }
    switch counts {
    case .exact(let usage)?:
      state = .scanning(
        Scan(frozen, tree, after: previous, usage, attempts: attempts + 1, written: written))
    case .gone?: tell(RecordLoss(tree: tree, what: .counts))
    case .unknown?, nil: break
    }
  }

  private func step(_ scan: inout Scan) throws(StoreError) {
    if try scan.step() { return state = .scanning(scan) }
    let losses = scan.comparison.losses
    if losses.isEmpty {
      return try begin(scan.frozen, after: scan.tree, attempts: 0, written: scan.written)
    }
    for loss in losses { tell(loss) }
  }

  // MARK: What is counted

  /// What is known of the bytes of a tree's records.
  private enum Counts {
    case exact(UsageRow)
    /// The row is missing, although there are records.
    case gone
    /// They are an estimate, or cannot be read.
    case unknown
  }

  private static func counts(
    _ view: any OrderedView, _ tree: TreeID
  ) throws(StoreError) -> Counts {
    if try MendingMarker.isThere(view, tree) { return .unknown }
    if let row = try undamaged({ () throws(StoreError) in try UsageRow.read(view, tree) }) {
      return .exact(row)
    }
    let key = StoreKey.prefix(tree)
    let isThere = try view.keys(Spaces.usage, prefix: key, limit: 1).first == key
    return isThere ? .unknown : .gone
  }

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

  // MARK: Telling

  /// Reports a loss and makes the rest consistent, in one commit; where something there cannot be read, reports it alone.
  /// What fails then is found again by the next opening.
  private func tell(_ loss: RecordLoss) {
    for isWhole in [true, false] {
      do throws(StoreError) {
        return try repairer.retrying { (_) throws(StoreError) in
          try repairer.change(.power) { (repair) throws(StoreError) in
            if isWhole { try repair.repair(loss) } else { try repair.report(loss) }
          }
        }
      } catch { continue }
    }
  }
}
