package import ConiferKeyValue

/// Bodies of a tree's runs, taken evenly over the tree; the same for the same data.
package struct RunSamples {
  /// What a dictionary is trained from.
  package private(set) var training: [Bytes] = []
  /// What it is measured with: every fourth body.
  package private(set) var heldOut: [Bytes] = []

  /// How many keys are read in one view.
  private static let keysAtATime = 2048
  /// How many runs are read in one view, so that it lasts milliseconds.
  private static let runsAtATime = 64
  /// The longest body that is taken: larger ones are lone leaves.
  private static let largestBody = 32 << 10

  /// Reads samples of at most so many bytes together; damaged runs are left out.
  ///
  /// - Throws: `io`, `closed`, `suspended`.
  package init(
    _ leaves: LeafStore, _ tree: TreeID, atMost limit: Int
  ) throws(StoreError) {
    let keys = try Self.keys(leaves.store, tree, atMost: limit / (8 << 10))
    var taken: [Bytes] = []
    for start in stride(from: 0, to: keys.count, by: Self.runsAtATime) {
      let snapshot = try leaves.openSnapshot()
      defer { snapshot.close() }
      let unpacking = Unpacking(view: snapshot, tree: tree)
      for key in keys[start..<min(start + Self.runsAtATime, keys.count)] {
        let body = try undamaged { () throws(StoreError) -> Bytes? in
          guard let value = try snapshot.value(Spaces.runs, key) else { return nil }
          let head = try RunHead(storeKey: key, value: value)
          return head.rawCount <= Self.largestBody ? try head.body(unpacking) : nil
        }
        guard let body = body ?? nil, !body.isEmpty else { continue }
        taken.append(body)
      }
    }
    while taken.count > 8, taken.reduce(0, { $0 + $1.count }) > limit {
      taken = Self.everySecond(taken)
    }
    for (index, body) in taken.enumerated() {
      if index % 4 == 3 { heldOut.append(body) } else { training.append(body) }
    }
  }

  private static func everySecond(_ all: [Bytes]) -> [Bytes] {
    all.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
  }

  /// Keys of runs, evenly distributed: whenever there are too many, every second one is dropped.
  private static func keys(
    _ store: any OrderedStore, _ tree: TreeID, atMost limit: Int
  ) throws(StoreError) -> [Bytes] {
    var kept: [Bytes] = []
    var every = 1
    var index = 0
    var last: Bytes?
    while true {
      let view = try store.view()
      defer { view.close() }
      let some = try view.keys(
        Spaces.runs, prefix: StoreKey.prefix(tree), after: last, limit: keysAtATime)
      for key in some {
        if index.isMultiple(of: every) { kept.append(key) }
        index += 1
        if kept.count > max(limit, 8) {
          kept = everySecond(kept)
          every *= 2
        }
      }
      guard some.count == keysAtATime, let end = some.last else { return kept }
      last = end
    }
  }
}
