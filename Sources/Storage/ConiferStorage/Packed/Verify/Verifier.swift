import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Checks all records of a view: each one, and the references between them.
final class Verifier {
  let snapshot: LeafSnapshot
  private(set) var report: VerificationReport
  private let progress: (VerificationProgress) -> Void
  private var expected = 0
  private var lastReported = 0
  private var phase = ""

  /// The registered trees.
  var trees: [TreeID: TreeInfo] = [:]
  /// What was counted of each tree's records, to be compared with its stored usage.
  var counted: [TreeID: UsageRow] = [:]
  /// Trees with records that could not be read, which may be the reason for missing records and
  /// wrong counts.
  var damaged: Set<TreeID> = []
  /// Lanes with records whose key is missing.
  private(set) var lockedLanes: Set<Lane> = []
  /// Damaged records that were reported already, so that records which need them are not reported
  /// too.
  private var reportedPlaces: Set<StoreError.Place> = []
  /// Records of trees that are not registered; reported once for each tree and space.
  private var strays: Set<StoreError.Place> = []

  init(
    _ snapshot: LeafSnapshot, report: VerificationReport,
    progress: @escaping (VerificationProgress) -> Void
  ) {
    self.snapshot = snapshot
    self.report = report
    self.progress = progress
  }

  func run() throws(StoreError) {
    for tree in try UsageRow.trees(snapshot) {
      // A row that cannot be read is reported later.
      let row = try undamaged { () throws(StoreError) in
        try UsageRow.read(snapshot, tree)
      }
      expected.add(row?.usage.total ?? 0)
    }
    phase = "trees"
    try checkTrees()
    try countLocked()
    phase = "data"
    try checkDictionaries()
    try checkRuns()
    phase = "indexes"
    try checkCollections()
    try checkIndexes()
    phase = "queries"
    try checkQueries()
    try checkChanges()
    try checkPins()
    phase = "queues"
    try checkQueues()
    try checkOverlays()
    phase = "metadata"
    try checkMetadata()
    try checkUnknown()
    phase = "usage"
    try checkUsage()
    reportProgress()
  }

  // MARK: Findings

  /// Adds a finding about a record.
  func found(
    _ kind: VerificationReport.Finding.Kind, _ space: Space, _ key: Bytes, _ words: String,
    bytes: Int = 0
  ) {
    let tree = StoreKey.tree(key)
    report.add(
      VerificationReport.Finding(
        kind: kind, tree: tree.rawValue == 0 ? nil : tree,
        place: RecordName.words(space, key, trees[tree]?.order), words: words, bytes: bytes))
  }

  /// Adds a finding about a place given by its path key.
  func found(
    _ kind: VerificationReport.Finding.Kind, _ info: TreeInfo, at key: Bytes, _ words: String
  ) {
    report.add(
      VerificationReport.Finding(
        kind: kind, tree: info.id, place: RecordName.path(key[...], info.order), words: words))
  }

  /// Counts the records whose key is missing. A lost key is damage, and is reported once for each
  /// scope.
  private func countLocked() throws(StoreError) {
    var (locked, lost) = (LockedScopes(), LockedScopes())
    try LockedScopes.walk(snapshot) { space, key, size, why in
      if why == .lost {
        lost.add(space, key, size, why)
        reportedPlaces.insert(StoreError.Place(space: space.id, key: key))
      } else {
        locked.add(space, key, size, why)
      }
      guard space != Spaces.usage else { return }
      let bytes = 1 + key.count + size
      counted[StoreKey.tree(key), default: UsageRow()].bytes[space.id, default: 0].add(bytes)
    }
    report.locked = locked.records(trees)
    for records in lost.records(trees) {
      report.add(
        VerificationReport.Finding(
          kind: .content, tree: records.tree, place: records.place, words: records.words,
          bytes: records.bytes))
    }
    for scope in locked.scopes.union(lost.scopes) {
      if let lane = scope.lane {
        lockedLanes.insert(lane)
      } else {
        damaged.insert(scope.tree ?? TreeID(rawValue: 0))
      }
    }
  }

  func count(_ change: (inout VerificationReport.Counts) -> Void) { change(&report.counts) }

  /// Runs a check of a record; what it cannot read is a finding, and what a later version wrote is
  /// counted.
  ///
  /// - Returns: nil when the record could not be read.
  @discardableResult
  func reading<R>(
    _ space: Space, _ key: Bytes, bytes: Int = 0, _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R? {
    do throws(StoreError) {
      return try body()
    } catch {
      switch error.code {
      case .damaged:
        let place = error.place ?? StoreError.Place(space: space.id, key: key)
        damaged.insert(StoreKey.tree(place.key))
        // A dictionary that many records need is reported once.
        guard reportedPlaces.insert(place).inserted else { return nil }
        let own = Spaces.all.first { $0.id == place.space } ?? space
        let isThere = try snapshot.keys(own, prefix: place.key, limit: 1).first == place.key
        if !isThere {
          found(.missing, own, place.key, "records need it, and it is not there or not whole")
        } else {
          found(.content, own, place.key, "the record cannot be read", bytes: bytes)
        }
      // The record is already counted as locked.
      case .wrongKey: damaged.insert(StoreKey.tree(key))
      case .unsupported, .newerFormat:
        damaged.insert(StoreKey.tree(key))
        report.counts.unknown += 1
      default: throw error
      }
      return nil
    }
  }

  // MARK: Scanning

  /// Visits every record of a space whose checksum is right and whose tree is registered, in order.
  func scan(
    _ space: Space, _ visit: (_ key: Bytes, _ value: Bytes) throws(StoreError) -> Void
  ) throws(StoreError) {
    var from: Bytes = []
    while true {
      let (window, isOver, failure) = try window(space, from)
      for (key, value) in window {
        from = key + [0]
        try look(space, key, value, visit)
      }
      if let failure {
        guard let place = failure.place, place.space == space.id, !bytesPrecede(place.key, from)
        else {
          // Where the scan would continue after the damage is not known.
          guard failure.code == .damaged else { throw failure }
          for tree in trees.keys { damaged.insert(tree) }
          report.add(
            VerificationReport.Finding(
              kind: .file, tree: nil, place: "space \(space.id) from key \(Damage.hex(from)) on",
              words: failure.message))
          return
        }
        from = place.key + [0]
        // Records whose key is missing are counted already.
        guard failure.code == .damaged, reportedPlaces.insert(place).inserted else { continue }
        damaged.insert(StoreKey.tree(place.key))
        found(
          .checksum, space, place.key, "the store cannot lend the record",
          bytes: failure.found?.count ?? 0)
      } else if isOver {
        return
      }
    }
  }

  /// About a megabyte of records from a key on. They are copied, since nothing else can be read
  /// inside a closure that gets lent bytes.
  private func window(
    _ space: Space, _ from: Bytes
  ) throws(StoreError) -> (records: [(Bytes, Bytes)], isOver: Bool, failure: StoreError?) {
    var records: [(Bytes, Bytes)] = []
    var size = 0
    var isOver = true
    do throws(StoreError) {
      try snapshot.walk(space, .atOrAfter(from)) { key, value in
        records.append((Bytes(key), Bytes(value)))
        size += key.byteCount + value.byteCount
        if size < 1 << 20, records.count < 4096 { return .next }
        isOver = false
        return .stop
      }
    } catch {
      guard error.code == .damaged || error.code == .wrongKey && error.place != nil else {
        throw error
      }
      return (records, false, error)
    }
    return (records, isOver, nil)
  }

  private func look(
    _ space: Space, _ key: Bytes, _ value: Bytes,
    _ visit: (_ key: Bytes, _ value: Bytes) throws(StoreError) -> Void
  ) throws(StoreError) {
    report.counts.records += 1
    report.counts.bytes += 1 + key.count + value.count
    if report.counts.bytes - lastReported > 1 << 20 { reportProgress() }
    let tree = StoreKey.tree(key)
    guard key.count >= 4, tree.rawValue == 0 || trees[tree] != nil else {
      let stray = StoreError.Place(space: space.id, key: Bytes(key.prefix(4)))
      if strays.insert(stray).inserted {
        found(.orphan, space, key, "the tree of these records is not registered")
      }
      return
    }
    if space != Spaces.usage {
      counted[tree, default: UsageRow()].bytes[space.id, default: 0] += 1 + key.count + value.count
    }
    guard Record.isIntact(space, key, value) else {
      damaged.insert(tree)
      reportedPlaces.insert(StoreError.Place(space: space.id, key: key))
      return found(
        .checksum, space, key, "the record is not what was written", bytes: value.count)
    }
    try reading(space, key, bytes: value.count) { () throws(StoreError) in try visit(key, value) }
  }

  private func reportProgress() {
    lastReported = report.counts.bytes
    progress(
      VerificationProgress(phase: phase, bytes: lastReported, expected: max(expected, lastReported))
    )
  }
}
