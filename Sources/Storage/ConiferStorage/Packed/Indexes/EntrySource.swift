import ConiferKeyValue

/// Where the entries of one tree are read in order: the runs of a view, or those of a commit in the
/// making.
protocol EntrySource {
  /// Reads leaves that are stored in parts.
  var reader: RunReader { get }
  /// The first run that may hold a path key or a later one.
  func place(coveringOrAfter key: Bytes) throws(StoreError) -> RunPlace?
  /// The run behind another one.
  func place(after place: RunPlace) throws(StoreError) -> RunPlace?
  /// The entries of a run as they are now.
  func entries(_ place: RunPlace) throws(StoreError) -> EntryList
}

/// A run, by its key in the store and the smallest path key that belongs to it.
struct RunPlace {
  let storeKey: Bytes
  let separator: Bytes
  /// The run as it is stored; nil while it never was.
  var head: RunHead?

  init(_ head: RunHead) {
    storeKey = head.storeKey
    separator = head.separator
    self.head = head
  }

  /// A run before all others that is not stored yet.
  init(first storeKey: Bytes) {
    self.storeKey = storeKey
    separator = []
  }
}

/// The runs of a view.
struct StoredEntries: EntrySource {
  let reader: RunReader

  func place(coveringOrAfter key: Bytes) throws(StoreError) -> RunPlace? {
    try reader.run(coveringOrAfter: key).map { RunPlace($0) }
  }

  func place(after place: RunPlace) throws(StoreError) -> RunPlace? {
    try reader.run(after: place.storeKey).map { RunPlace($0) }
  }

  func entries(_ place: RunPlace) throws(StoreError) -> EntryList {
    guard let head = place.head else { return EntryList() }
    return try reader.merged(head)
  }
}

/// What a visit of entries does next.
enum EntryStep {
  case next
  case stop
  /// Goes on at a key behind the current one.
  case jump(Bytes)
}

extension EntrySource {
  /// Visits the entries in `low ..< high` in order; runs that a jump passes are not read.
  func forEachEntry(
    _ low: Bytes, _ high: Bytes,
    _ visit: (_ entries: EntryList, _ index: Int) throws(StoreError) -> EntryStep
  ) throws(StoreError) {
    var target = low
    var place = try place(coveringOrAfter: low)
    while let run = place, bytesPrecede(run.separator, high) {
      let entries = try entries(run)
      var at = entries.lowerBound(target)
      while at < entries.count {
        if entries.compareKey(at, high) >= 0 { return }
        switch try visit(entries, at) {
        case .next: at += 1
        case .stop: return
        case .jump(let key):
          target = key
          at = entries.lowerBound(key, from: at + 1)
        }
      }
      place = try self.place(after: run)
      if let next = place, bytesPrecede(next.separator, target) {
        let jump = try self.place(coveringOrAfter: target)
        if let jump, bytesPrecede(next.storeKey, jump.storeKey) { place = jump }
      }
    }
  }

  /// Where a later walk begins so that it meets an entry's child whole.
  private func boundary(_ plan: IndexPlan, _ entries: EntryList, _ index: Int) -> Bytes {
    let key = entries.key(index)
    guard case .child(_, let end) = entries.withKey(index, plan.place) else { return key }
    return Bytes(key[..<end])
  }

  /// Visits the children that an index has rows of, in `low ..< high`, with what it needs of them.
  ///
  /// - Parameters:
  ///   - low: not within a child.
  ///   - limit: how many entries are looked at before it stops between two children.
  ///   - visit: gets the child's path key and where its node's ends; says whether to go on.
  /// - Returns: where it stopped: nothing was visited from there on; nil at the end.
  @discardableResult
  func forEachChild(
    _ plan: IndexPlan, _ low: Bytes, _ high: Bytes, limit: Int = .max,
    _ visit: (_ child: Bytes, _ node: Int, _ facts: ChildFacts) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bytes? {
    var current: (child: Bytes, node: Int, facts: ChildFacts)?
    var stopped: Bytes?
    var looked = 0
    try forEachEntry(low, high) { (entries, index) throws(StoreError) in
      looked += 1
      if let (child, node, facts) = current {
        if entries.withKey(index, { $0.starts(with: child) }) {
          var facts = facts
          let next = try facts.add(entries, index, child: child, plan, reader)
          current = (child, node, facts)
          return next.map { .jump($0) } ?? .next
        }
        current = nil
        if facts.exists, try !visit(child, node, facts) {
          stopped = boundary(plan, entries, index)
          return .stop
        }
      }
      if looked > limit {
        stopped = boundary(plan, entries, index)
        return .stop
      }
      switch entries.withKey(index, plan.place) {
      case .above: return .next
      case .outside(let key): return .jump(key)
      case .child(let node, let end):
        let child = Bytes(entries.key(index)[..<end])
        var facts = ChildFacts(plan)
        let next = try facts.add(entries, index, child: child, plan, reader)
        current = (child, node, facts)
        return next.map { .jump($0) } ?? .next
      }
    }
    if let (child, node, facts) = current, facts.exists { _ = try visit(child, node, facts) }
    return stopped
  }
}
