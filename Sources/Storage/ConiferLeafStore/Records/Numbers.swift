package import ConiferKeyValue

/// The bounds of stored numbers, in one place: what reads, gives, restores and recounts them asks
/// here.
///
/// Numbers are counted up from 1 and never repeat. No store comes near a bound by counting, so a
/// number beyond it was forged or damaged.
package enum Numbers {
  /// The last number of a run, and of a large leaf.
  package static let lastRun: UInt64 = 1 << 43 - 1
  /// The last number of a run that writing may have come to; a record's key that tells a later one was made
  /// up, or damaged, and new numbers, below, do not go on behind it.
  package static let lastLikelyRun: UInt64 = 3 << 41
  /// The last number of a tracked query.
  package static let lastQuery: UInt64 = 1 << 56 - 1
  /// The last number of a dictionary.
  package static let lastDictionary = UInt32.max - 1
  /// How far numbers go on above all that is known when it is lost which were given.
  package static let skip: UInt64 = 1 << 20

  /// Where the numbers of runs go on while it is not known which were given: far above what counting
  /// reaches, and by chance, so that no earlier loss went on there. Right behind one that is known lie
  /// others of the same loss.
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
