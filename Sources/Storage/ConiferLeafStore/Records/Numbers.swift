package import ConiferKeyValue

/// The limits of stored numbers, for the code that reads, assigns, restores or recounts them.
///
/// Numbers are assigned from 1 upwards and never repeat. No store comes near a limit by counting,
/// so a larger number was forged or damaged.
/// number beyond it was forged or damaged.
package enum Numbers {
  /// The last number of a run, and of a large leaf.
  package static let lastRun: UInt64 = (1 << 43) - 1
  /// The last number that a run can plausibly have. A key with a later one was forged or damaged, and new
  /// numbers do not continue from it.
  package static let lastLikelyRun: UInt64 = 3 << 41
  /// The last number of a tracked query.
  package static let lastQuery: UInt64 = (1 << 56) - 1
  /// The last number of a dictionary.
  package static let lastDictionary = UInt32.max - 1
  /// How many numbers are skipped after the largest known one, when the last assigned number is
  /// lost.
  package static let skip: UInt64 = 1 << 20

  /// Where the numbers of runs continue when the last assigned number is lost: far above what
  /// counting reaches, and at random, so that two losses do not continue at the same number.
  package static func runsAfterLoss() -> UInt64 { .random(in: 1 << 40..<1 << 42) }

  /// A number some way above one, at most the last.
  package static func skipping(_ number: UInt64, last: UInt64) -> UInt64 {
    number >= last - skip ? last : number + skip
  }

  /// The number after one.
  ///
  /// - Throws: `tooLarge` when all were given.
  package static func next(
    after number: UInt64, last: UInt64, _ what: StaticString
  ) throws(StoreError) -> UInt64 {
    guard number < last else {
      throw StoreError(
        .tooLarge,
        "All numbers of \(what) were given: copy what the store holds into a new one.")
    }
    return number + 1
  }
}
