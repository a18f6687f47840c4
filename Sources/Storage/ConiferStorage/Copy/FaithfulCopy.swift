import ConiferKeyValue

/// Copies all that a backend holds into another one, and compares the two until both hold the same.
package struct FaithfulCopy {
  /// What is being done.
  package enum Step: Sendable {
    case copying
    case comparing
  }

  /// The copy is not what the source is, also after a second attempt.
  package struct Difference: Error {
    /// Where they differ.
    package let place: String
  }

  private let source: any StorageBackend
  private let target: any StorageBackend
  /// Called each time that something has become durable in the target, with the place to go on from.
  private let reached: (CopyPosition) throws -> Void
  /// Called with about how many bytes of how many are done.
  private let advanced: (Step, _ done: Int, _ total: Int) -> Void

  /// A copy of all that a backend holds.
  ///
  /// - Parameters:
  ///   - reached: called each time that something has become durable in the target.
  ///   - advanced: called with about how many bytes of how many are done.
  package init(
    source: any StorageBackend, target: any StorageBackend,
    reached: @escaping (CopyPosition) throws -> Void,
    advanced: @escaping (Step, _ done: Int, _ total: Int) -> Void
  ) {
    (self.source, self.target, self.reached, self.advanced) = (source, target, reached, advanced)
  }

  /// Copies from a place on, and builds the indexes.
  ///
  /// What differs then was changed between two runs: the target is emptied, and all is copied once more.
  ///
  /// - Returns: what both hold.
  /// - Throws: `Difference`, and what the stores do.
  package func run(from place: CopyPosition) async throws -> StoreDigest {
    var place = place
    var isSecond = false
    while true {
      let difference: String
      do {
        try await copy(from: place)
        try await buildIndexes()
        let (mine, theirs) = try await digests()
        guard let found = mine.difference(from: theirs) else { return mine }
        difference = found
      } catch let error as StoreError where error.code == .invalid {
        difference = error.message
      }
      guard !isSecond else { throw Difference(place: difference) }
      isSecond = true
      place = CopyPosition()
      try reached(place)
      for info in try target.inspect({ try $0.trees() }) {
        _ = try await target.commit([.wipe(info.id)], target.traits.store.strongest)
      }
    }
  }

  private func copy(from place: CopyPosition) async throws {
    let total = try size()
    var copier = StoreCopier(source: source, target: target, reached: reached)
    copier.advanced = { [advanced] in advanced(.copying, $0, total) }
    try await copier.run(from: place)
  }

  /// Builds the indexes of the copy, so that it answers as quickly as the source from the first query on.
  private func buildIndexes() async throws {
    while try isBuilding(), try await target.tidy(.milliseconds(500)) {}
  }

  private func isBuilding() throws -> Bool {
    try target.inspect { view in
      try view.trees().contains { tree in
        if tree.order == .documents, let documents = view as? any DocumentView {
          return try documents.documentIndexes(tree.id).contains { $0.state != .ready }
        }
        return try view.indexes(tree.id).contains { $0.state != .ready }
      }
    }
  }

  private func digests() async throws -> (StoreDigest, StoreDigest) {
    let size = try size()
    let mine = try await StoreDigest.of(source) { [advanced] in advanced(.comparing, $0, 2 * size) }
    let theirs = try await StoreDigest.of(target) { [advanced] in
      advanced(.comparing, size + $0, 2 * size)
    }
    return (mine, theirs)
  }

  /// About how many bytes of data there are.
  private func size() throws -> Int {
    try source.inspect { min(try $0.usage(nil).rawLeafBytes, 1 << 60) }
  }
}
