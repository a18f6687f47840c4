internal import ConiferKeyValue
internal import ConiferStorage

/// The file calls of random batches, and the crashes that can be made in them.
struct BatchRecord {
  /// The numbers of batches that may and must be there at a point.
  private struct Bounds {
    var issued = 0
    /// The newest one that survives power loss.
    var durable = 0
    /// The newest one that survives the death of its process.
    var visible = 0
  }

  private let factory: StoreFactory
  private let seed: UInt64
  private let entries: [IOEntry]
  /// What the store held after each batch; at first nothing.
  private let states: [Model]
  /// The batches that were applied at `.process` at least.
  private let visible: Set<Int>
  /// The batches behind which the store was suspended or closed.
  private let released: Set<Int>

  /// The row that every batch puts, with its number as the value.
  private static let marker = (space: Space.c, key: [0] as Bytes)
  private static let spaces = Program.spaces + [marker.space]

  /// After so many batches the store is suspended or closed, in turns. The batch before is not durable.
  private static let life = 40

  /// Applies batches to a new store, which is hardened, tidied, suspended and opened again in
  /// between, and records its file calls.
  init(_ factory: StoreFactory, seed: UInt64, batches: Int) throws {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    let session = try IOSession.record(directory)
    defer { session.end() }
    let survivesPower = factory.declared.strongest == .power
    var random = SeededRandom(seed: seed)
    var states = [Model()]
    var visible: Set<Int> = []
    var released: Set<Int> = []
    /// All batches so far are durable.
    func promise() {
      if survivesPower { session.mark(.acknowledged(states.count - 1)) }
    }
    var newest = CommitID(rawValue: 0)
    var store = try factory.open(directory)
    do {
      while states.count <= batches {
        let (number, life) = (states.count, Self.life)
        if number > 1, number % life == 1, released.insert(number - 1).inserted {
          if number / life % 2 == 0 {
            try store.close()
            promise()
            store = try factory.open(directory)
          } else {
            try store.suspend()
            promise()
            try store.resume()
          }
          continue
        }
        switch Int.random(in: 0..<92, using: &random) {
        case 0...2:
          try store.harden(newest)
          promise()
        // An empty batch covers those before it.
        case 3...5:
          newest = try store.apply(Batch(), factory.declared.strongest)
          promise()
        case 6...9: _ = try store.tidy(.milliseconds(5))
        default:
          let batch = Self.batch(number, &random, factory.declared)
          let levels = Durability.allCases.filter { $0 <= factory.declared.strongest }
          let level = number % life == 0 ? .relaxed : random.pick(levels)
          session.mark(.issued(number))
          newest = try store.apply(batch, level)
          if level >= .process { visible.insert(number) }
          session.mark(level == .power ? .acknowledged(number) : .returned)
          var model = states[number - 1]
          model.apply(batch)
          states.append(model)
        }
      }
      released.insert(batches)
      try store.close()
      promise()
    } catch {
      try? store.close()
      throw error
    }
    self.factory = factory
    self.seed = seed
    self.states = states
    self.visible = visible
    self.released = released
    entries = session.entries()
  }

  /// A batch with a number: random edits, and the marker before or after them.
  private static func batch(
    _ number: Int, _ random: inout SeededRandom, _ traits: StoreTraits
  ) -> Batch {
    let edits = (0..<random.pick([0, 1, 1, 2, 3, 5, 8, 20])).map { _ in
      Program.edit(&random, traits)
    }
    var batch = Batch()
    func mark() { batch.put(marker.space, marker.key, Bytes("\(number)".utf8)) }
    if number % 2 == 0 { mark() }
    for edit in edits {
      switch edit {
      case .put(let space, let key, let value): batch.put(space, key, value)
      case .delete(let space, let key): batch.delete(space, key)
      case .clear(let space, let from, let to): batch.clear(space, from: from, to: to)
      }
    }
    if number % 2 != 0 { mark() }
    return batch
  }

  /// Opens images of crashes, and checks each: most of them are kills within batches, each of
  /// another batch, and the others power losses.
  ///
  /// - Parameter most: how many kills; there are half as many images of power losses, and some after hardening.
  ///
  /// - Returns: how many were tried.
  func check(imagesAtMost most: Int) throws -> Int {
    let isWatched = entries.contains { if case .write = $0 { true } else { false } }
    guard isWatched else {
      throw NotApplicable("its writes cannot be watched")
    }
    var random = SeededRandom(seed: seed)
    let points = CutPoints(entries, on: SimulatedDisk(), kinds: [:])
    let kills = Set(points.within(most, &random))
    let cuts =
      factory.declared.strongest == .power ? Set(points.some(max(1, most / 8), &random)) : []
    let promises = Set(
      pointsOfPromises(ofBatches: false).shuffled(using: &random).prefix(max(1, most / 16))
        + pointsOfPromises(ofBatches: true).shuffled(using: &random).prefix(max(1, most / 4))
        + pointsOfReleases)
    var disk = SimulatedDisk()
    var bounds = Bounds()
    var (last, tried) = (0, 0)
    for point in kills.union(cuts).union(promises).sorted() {
      for entry in entries[last..<point] {
        note(entry, &bounds)
        _ = disk.play(entry)
      }
      last = point
      var images = cuts.contains(point) ? DiskImage.some(at: point) : []
      if kills.contains(point), images.isEmpty { images = [.everything] }
      if promises.contains(point), images.count < 2 { images.append(.durable) }
      if disk.isAllDurable { images = [.everything] }
      for image in images {
        tried += 1
        do {
          try check(image, of: disk, bounds)
        } catch {
          let failure = error as? ConformanceFailure
          throw ConformanceFailure(
            failure?.anomaly ?? .refused,
            "\(failure?.message ?? "\(error)")\n"
              + "seed \(seed), \(image == .everything ? "killed" : "power lost") after \(point) of "
              + "\(entries.count) operations, the last one: \(entries[point - 1]), image \(image)",
            seed: seed)
        }
      }
    }
    return tried
  }

  /// The points at which it was promised that all before survives power loss: by batches, or without
  /// one, by hardening and by empty batches, which are few.
  private func pointsOfPromises(ofBatches: Bool) -> [Int] {
    var isCommitting = false
    return entries.indices.compactMap { index in
      guard case .mark(let mark) = entries[index] else { return nil }
      let was = isCommitting
      if case .issued = CommitMark(mark) { isCommitting = true } else { isCommitting = false }
      guard case .acknowledged = CommitMark(mark), was == ofBatches else { return nil }
      return index + 1
    }
  }

  /// The points at which the store had been suspended or closed.
  private var pointsOfReleases: [Int] {
    entries.indices.compactMap { index in
      guard case .mark(let mark) = entries[index],
        case .acknowledged(let number) = CommitMark(mark), released.contains(number)
      else { return nil }
      return index + 1
    }
  }

  private func note(_ entry: IOEntry, _ bounds: inout Bounds) {
    guard case .mark(let mark) = entry else { return }
    switch CommitMark(mark) {
    case .issued(let number): bounds.issued = number
    case .acknowledged(let number):
      bounds.durable = number
      bounds.visible = number
    case .returned: if visible.contains(bounds.issued) { bounds.visible = bounds.issued }
    case nil: break
    }
  }

  /// Opens an image, which must hold one of the states that may be there, applies one more batch,
  /// and opens it again.
  private func check(_ image: DiskImage, of disk: SimulatedDisk, _ bounds: Bounds) throws {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    try disk.write(image, to: directory)
    let least = image == .everything ? bounds.visible : bounds.durable
    var model = Model()
    try opened(directory) { store in
      model = try state(of: store, atLeast: least, atMost: bounds.issued)
      try requireSound(store)
      var batch = Batch()
      batch.put(.a, [1], [1])
      batch.delete(.b, [1])
      try store.apply(batch, factory.declared.strongest)
      model.apply(batch)
    }
    try opened(directory) { store in
      try store.reading { try model.compare($0, Self.spaces, "after one more batch") }
    }
  }

  /// Requires that a store that was only cut off tells of no damage.
  private func requireSound(_ store: any OrderedStore) throws {
    var first = store.findings.first
    let mayBeRead = try store.verify { first = first ?? $0 }
    guard let first else {
      return try require(
        mayBeRead, .wrongReport, "nothing is damaged, and the store says that it must not be read")
    }
    throw ConformanceFailure(.wrongReport, "nothing is damaged, and the store says: \(first.words)")
  }

  private func opened(_ directory: String, _ body: (any OrderedStore) throws -> Void) throws {
    let store = try factory.open(directory)
    do {
      try body(store)
    } catch {
      try? store.close()
      throw error
    }
    try store.close()
  }

  /// The state that a store is in.
  private func state(
    of store: any OrderedStore, atLeast least: Int, atMost most: Int
  ) throws -> Model {
    try store.reading { view in
      let marker = try view.value(Self.marker.space, Self.marker.key)
      let held =
        try marker.map { value in
          guard let number = Int(String(decoding: value, as: UTF8.self)), number >= 0 else {
            throw ConformanceFailure(.wrongData, "the number of the newest batch is \(text(value))")
          }
          return number
        } ?? 0
      try require(
        held >= least, .lostAcknowledged,
        "batch \(held) is the newest, \(least) was acknowledged")
      try require(
        held <= most, .phantom, "batch \(held) is there, \(most) is the newest that was applied")
      do {
        try states[held].compare(view, Self.spaces, "after batch \(held)")
      } catch let failure as ConformanceFailure {
        throw ConformanceFailure(.halfBatch, failure.message)
      }
      return states[held]
    }
  }
}
