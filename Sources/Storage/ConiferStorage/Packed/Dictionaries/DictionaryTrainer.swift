import ConiferKeyValue
import ConiferLeafStore
import Synchronization

/// Finds a tree that would gain from a dictionary and trains one on the tree's own runs; never on
/// the store's thread.
final class DictionaryTrainer: Sendable {
  /// The minimum of newly packed bytes before a tree's dictionary is tried again, by default.
  static let leastNew = 512 << 10
  /// Even in a large tree, this many new bytes are enough to try again.
  static let mostNew = 2 << 20
  /// The share of the runs' size that a dictionary must save.
  static let leastGain = 0.03
  /// A dictionary is trained again when its ratio falls below this share of its first ratio.
  static let retrainingShare = 0.9

  private let leaves: LeafStore
  private let leastNew: Int
  /// Whether some task trains: one at a time is enough.
  private let isBusy = Mutex(false)

  init(_ leaves: LeafStore, leastNew: Int = leastNew) {
    self.leaves = leaves
    self.leastNew = leastNew
  }

  private var codec: Codec { leaves.codec }

  /// The dictionary of the first tree that would gain from one, or nil.
  ///
  /// - Throws: `io`, `closed`, `suspended`.
  func train() throws(StoreError) -> Training? {
    guard Codec.hasZstd, codec.level != nil,
      isBusy.withLock({ isBusy in
        defer { isBusy = true }
        return !isBusy
      })
    else { return nil }
    defer { isBusy.withLock { $0 = false } }
    guard let (tree, row) = try candidate() else { return nil }
    return try train(tree, row)
  }

  private func candidate() throws(StoreError) -> (TreeID, UsageRow)? {
    let snapshot = try leaves.openSnapshot()
    defer { snapshot.close() }
    for tree in try UsageRow.trees(snapshot) {
      // A damaged row is skipped here; whoever needs it has it counted again.
      guard let row = try undamaged({ () throws(StoreError) in try UsageRow.read(snapshot, tree) }),
        row.raw.runs >= leastNew, row.nextDictionary < .max,
        try Trees.isReadable(snapshot, tree)
      else { continue }
      let enough = min(max(row.raw.runs / 4, leastNew), Self.mostNew)
      guard row.recent.raw >= enough else { continue }
      if row.newestDictionary == 0 { return (tree, row) }
      let current = try dictionary(row.newestDictionary, tree, snapshot)
      if row.recent.ratio < Self.retrainingShare * (current?.ratio ?? .infinity) {
        return (tree, row)
      }
    }
    return nil
  }

  private func train(_ tree: TreeID, _ row: UsageRow) throws(StoreError) -> Training {
    let capacity = Self.capacity(row.raw.runs)
    let samples = try RunSamples(leaves, tree, atMost: 100 * capacity)
    guard let content = ZstdTrainer.train(samples.training, capacity) else {
      return Training(tree: tree, number: row.nextDictionary, record: nil)
    }
    let current = try dictionary(row.newestDictionary, tree)
    let candidate = TreeDictionary(number: row.nextDictionary, ratio: 0, content)
    let raw = samples.heldOut.reduce(0) { $0 + $1.count }
    func packed(_ dictionary: TreeDictionary?, _ effort: Codec.Effort) -> Int {
      samples.heldOut.reduce(0) { $0 + codec.pack($1, dictionary, effort).1.count }
    }
    // Runs are stored as commits packed them, and housekeeping would pack them anew.
    let (before, after) = (packed(current, .quick), packed(candidate, .thorough))
    // The estimated size of all runs before and after, from the held-out ones.
    let scale = Double(row.raw.runs) / Double(max(raw, 1))
    let gain = Double(before - after) * scale - Double(content.count)
    let isWorthIt = after > 0 && gain >= Self.leastGain * Double(before) * scale
    // The ratio that later commits are compared with.
    let ratio = Double(raw) / Double(max(packed(candidate, .quick), 1))
    return Training(
      tree: tree, number: row.nextDictionary,
      record: isWorthIt ? DictionaryRecord(ratio: ratio, content: content) : nil)
  }

  /// The size of a dictionary for a tree; small trees gain nothing from a large one.
  private static func capacity(_ raw: Int) -> Int { min(32 << 10, max(8 << 10, raw / 128)) }

  private func dictionary(
    _ number: UInt32, _ tree: TreeID
  ) throws(StoreError) -> TreeDictionary? {
    let snapshot = try leaves.openSnapshot()
    defer { snapshot.close() }
    return try dictionary(number, tree, snapshot)
  }

  /// A dictionary, or nil when there is none that could be read.
  private func dictionary(
    _ number: UInt32, _ tree: TreeID, _ snapshot: LeafSnapshot
  ) throws(StoreError) -> TreeDictionary? {
    guard number != 0 else { return nil }
    let unpacking = Unpacking(view: snapshot, tree: tree)
    return try undamaged { () throws(StoreError) in try unpacking.dictionary(number) }
  }
}

/// The result of a training: a dictionary that is worth its bytes, or none.
struct Training: Sendable {
  let tree: TreeID
  /// The number of the dictionary, if there is one: the tree's next when the training began.
  let number: UInt32
  let record: DictionaryRecord?

  /// Stores the dictionary, or that there is none, unless the tree is gone or has a newer one.
  func store(_ tx: LeafTransaction) throws(StoreError) {
    guard try Trees.info(tx, tree) != nil else { return }
    var row = try tx.usage(tree)
    guard row.nextDictionary == number else { return }
    row.recent = RecentRuns()
    if record != nil {
      row.newestDictionary = number
      row.nextDictionary = number + 1
      row.dictionaries += 1
    }
    tx.setUsage(tree, row)
    guard let record else { return }
    try tx.put(
      Spaces.dictionaries, DictionaryRecord.key(tree, number), payload: record.payload)
  }
}
