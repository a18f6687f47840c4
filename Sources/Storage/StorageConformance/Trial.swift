internal import ConiferKeyValue

/// A temporary directory in which a check opens stores of one factory.
struct Trial: Sendable {
  let factory: StoreFactory
  let directory: String

  /// The strongest level that the store promises.
  var strongest: Durability { factory.declared.strongest }

  /// Opens the store; the caller closes it.
  func open() throws -> any OrderedStore {
    try factory.open(directory)
  }

  /// Runs a check in a directory of its own, which is removed.
  static func run<R>(
    _ factory: StoreFactory, _ body: (Trial) async throws -> R
  ) async throws -> R {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    return try await body(Trial(factory: factory, directory: directory))
  }

  /// Runs a synchronous check in a directory of its own, which is removed.
  static func runNow<R>(_ factory: StoreFactory, _ body: (Trial) throws -> R) throws -> R {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    return try body(Trial(factory: factory, directory: directory))
  }

  /// Runs a check on an empty store, which is closed.
  static func store(
    _ factory: StoreFactory, _ body: (any OrderedStore) async throws -> Void
  ) async throws {
    try await run(factory) { trial in
      let store = try trial.open()
      do {
        try await body(store)
      } catch {
        try? store.close()
        throw error
      }
      try store.close()
    }
  }
}

extension Space {
  static let a = Space(id: 7, shape: .rows)
  static let b = Space(id: 8, shape: .blobs)
  static let c = Space(id: 9, shape: .fifo)
  static let lowest = Space(id: 1, shape: .rows)
  static let highest = Space(id: 254, shape: .rows)
}

extension OrderedStore {
  /// Applies a batch, by default at the weakest durability.
  @discardableResult
  func commit(_ batch: Batch, _ durability: Durability = .relaxed) throws -> CommitID {
    try apply(batch, durability)
  }

  /// Applies a batch that a closure fills, by default at the weakest durability.
  @discardableResult
  func change(_ durability: Durability = .relaxed, _ fill: (inout Batch) -> Void) throws -> CommitID
  {
    var batch = Batch()
    fill(&batch)
    return try apply(batch, durability)
  }

  /// Lends a view and closes it.
  func reading<R>(_ body: (any OrderedView) throws -> R) throws -> R {
    let view = try view()
    defer { view.close() }
    return try body(view)
  }
}

/// Fails unless a call throws a certain code.
func expectCode(
  _ codes: [StoreError.Code], _ what: String, _ body: () throws -> Void
) throws {
  do {
    try body()
  } catch let error as StoreError {
    try require(
      codes.contains(error.code), .wrongError,
      "\(what) threw \(error), expected \(codes.map(\.rawValue).joined(separator: " or "))")
    try require(!error.message.isEmpty, "\(what) threw \(error.code) without a message")
    return
  }
  throw ConformanceFailure(
    .wrongError,
    "\(what) did not throw \(codes.map(\.rawValue).joined(separator: " or "))")
}

/// A value whose bytes differ by seed and by position.
func value(_ seed: Int, _ count: Int) -> Bytes {
  // The length is prime, so that the pattern never aligns with pages.
  let pattern = (0..<min(count, 4093)).map {
    UInt8(truncatingIfNeeded: seed &* 31 &+ $0 &* 7 &+ ($0 >> 8))
  }
  var bytes = pattern
  bytes.reserveCapacity(count)
  while bytes.count < count { bytes += pattern.prefix(count - bytes.count) }
  return bytes
}

/// A number as a key that sorts like it.
func key(_ number: Int) -> Bytes {
  (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
}
