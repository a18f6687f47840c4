internal import ConiferKeyValue

extension StoreCheck {
  /// Bytes that are changed in the files of a closed store, where they stand as they were put: inside a value or a
  /// key, where no engine trips over them.
  static let damages: [StoreCheck] = [
    StoreCheck(
      "A value changed in the files is told or read as it lies there, never as absent or as before",
      .silentLoss
    ) { factory in
      try ChangedRow.check(.value, factory)
    },
    StoreCheck(
      "A key changed in the files is told by opening, verify or reading", .silentLoss
    ) { factory in
      try ChangedRow.check(.key, factory, overlooking: factory.overlooks)
    },
  ]
}

/// A row of which one bit is changed in the files of a closed store.
private struct ChangedRow {
  enum Part: String { case key, value }

  private static let spaces: [Space] = [.a, .b, .c]
  private static let count = 12
  /// The row that is changed: one between others.
  private static let changed = 5

  let part: Part
  let space: Space

  init(_ part: Part, in space: Space) {
    self.part = part
    self.space = space
  }

  // MARK: What is put

  private static func noise(_ seed: Int, _ count: Int) -> Bytes {
    var random = SeededRandom(seed: UInt64(seed))
    _ = random.next()
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  /// Keys that differ in their first byte, so that nothing of them is shared.
  private static func key(_ space: Space, _ row: Int) -> Bytes {
    [UInt8(row + 1) << 4] + noise(Int(space.id) * 100 + row, 15)
  }

  private static func value(_ space: Space, _ row: Int, _ age: Int) -> Bytes {
    noise(100_000 * (age + 1) + Int(space.id) * 100 + row, 3000)
  }

  /// The value of a row as it was put last.
  private static func value(_ space: Space, _ row: Int) -> Bytes { value(space, row, 1) }

  /// Puts all rows twice.
  private func fill(_ store: any OrderedStore, _ level: Durability) throws {
    for age in 0...1 {
      var batch = Batch()
      for space in Self.spaces {
        for row in 0..<Self.count {
          batch.put(space, Self.key(space, row), Self.value(space, row, age))
        }
      }
      try store.apply(batch, level)
    }
  }

  // MARK: Changing

  /// The stretches of bytes of which the first that is found is changed: an engine may cut a value in pieces.
  private var stretches: [(at: Int, bytes: Bytes)] {
    switch part {
    case .key: [(0, Self.key(space, Self.changed))]
    case .value:
      [100, 1400, 2600].map { ($0, Bytes(Self.value(space, Self.changed)[$0..<($0 + 24)])) }
    }
  }

  /// Changes the row wherever it stands in the files.
  ///
  /// - Returns: the value with the change; nil when it stands nowhere.
  private func change(in directory: String) throws -> Bytes? {
    let files = StoreFile.all(in: directory)
    for stretch in stretches {
      var isFound = false
      for file in files {
        let places = file.bytes.places(of: stretch.bytes)
        guard !places.isEmpty else { continue }
        isFound = true
        var bytes = file.bytes
        for place in places { bytes[place] ^= 0x80 }
        try System.write(bytes, to: directory + "/" + file.name)
      }
      guard isFound else { continue }
      var value = Self.value(space, Self.changed)
      if part == .value { value[stretch.at] ^= 0x80 }
      return value
    }
    return nil
  }

  // MARK: Checking

  /// Changes a row of each space in turn.
  ///
  /// - Parameter overlooked: the kinds of damage that pass; each must be seen.
  static func check(
    _ part: Part, _ factory: StoreFactory, overlooking overlooked: Set<Anomaly> = []
  ) throws {
    var (changed, found) = (0, Set<Anomaly>())
    var missing: NotApplicable?
    for space in spaces {
      do {
        try ChangedRow(part, in: space).check(factory)
        changed += 1
      } catch let failure as ConformanceFailure where overlooked.contains(failure.anomaly) {
        changed += 1
        found.insert(failure.anomaly)
      } catch let error as NotApplicable {
        missing = error
      }
    }
    CheckRecord.current?.count("changed rows", changed)
    if changed == 0, let missing { throw missing }
    guard !overlooked.isEmpty else { return }
    func words(_ anomalies: Set<Anomaly>) -> String {
      anomalies.map(\.rawValue).sorted().joined(separator: ", ")
    }
    let needless = words(overlooked.subtracting(found))
    try require(
      needless.isEmpty,
      "no changed \(part) showed \(needless), which 'overlooks' excuses; take it out")
    CheckRecord.current?.exempts("the store cannot notice all of it: \(words(overlooked))")
  }

  private func check(_ factory: StoreFactory) throws {
    try Trial.runNow(factory) { trial in
      let made = try trial.open()
      do {
        try fill(made, trial.strongest)
      } catch {
        try? made.close()
        throw error
      }
      try made.close()
      guard let changed = try change(in: trial.directory) else {
        throw NotApplicable("its files do not hold a \(part) as it was put")
      }
      let store: any OrderedStore
      do throws(StoreError) {
        store = try factory.open(trial.directory)
      } catch {
        return try require(
          error.code == .damaged, .wrongError, "opening a store with a changed \(part): \(error)")
      }
      defer { try? store.close() }
      if !store.findings.isEmpty { return }
      switch part {
      case .value: try requireChanged(store, changed)
      case .key: try requireTold(store)
      }
    }
  }

  /// The rows that a read gives; nil when it throws that they are damaged.
  private func told<R>(_ read: () throws -> R) throws -> R? {
    do {
      return try read()
    } catch let error as StoreError where error.code == .damaged {
      return nil
    }
  }

  /// Requires that the changed value is read as it lies there, if it is read.
  private func requireChanged(_ store: any OrderedStore, _ changed: Bytes) throws {
    let (row, words) = (Self.key(space, Self.changed), "the changed value of space \(space.id)")
    func require(_ found: Bytes?, _ how: String) throws {
      if found == changed || found == Self.value(space, Self.changed) { return }
      guard let found else {
        throw ConformanceFailure(.silentLoss, "\(words) is absent when it is \(how)")
      }
      let isBefore = found == Self.value(space, Self.changed, 0)
      throw ConformanceFailure(
        isBefore ? .staleView : .wrongData,
        "\(words) is \(isBefore ? "as it was before" : "some other one") when it is \(how)")
    }
    try store.reading { view in
      if let found = try told({ try view.value(space, row) }) { try require(found, "read") }
      for origin in [Origin.atOrAfter([]), .atOrBefore(Bytes(repeating: 0xFF, count: 64))] {
        guard let rows = try told({ try view.rows(space, origin) }) else { continue }
        try require(rows.first { $0.key == row }?.value, "walked over")
      }
    }
  }

  /// Requires that `verify` finds something, or that reading does, or that nothing is lost.
  private func requireTold(_ store: any OrderedStore) throws {
    var isFound = false
    let mayBeRead = try store.verify { _ in isFound = true }
    if isFound || !mayBeRead { return }
    let expected = (0..<Self.count).map {
      Model.Row(key: Self.key(space, $0), value: Self.value(space, $0))
    }
    let rows = try store.reading { view in
      try told { () -> ([Model.Row], Bytes?) in
        (try view.rows(space), try view.value(space, Self.key(space, Self.changed)))
      }
    }
    guard let rows else { return }
    try require(
      rows.0 == expected && rows.1 == expected[Self.changed].value, .silentLoss,
      "a key of space \(space.id) was changed in the files, and neither opening nor verify nor "
        + "reading tells")
  }
}

extension Bytes {
  /// Where a byte string begins in this one.
  fileprivate func places(of stretch: Bytes) -> [Int] {
    guard let first = stretch.first, count >= stretch.count else { return [] }
    return withUnsafeBytes { bytes in
      (0...(count - stretch.count)).filter { at in
        bytes[at] == first && bytes[at..<(at + stretch.count)].elementsEqual(stretch)
      }
    }
  }
}
