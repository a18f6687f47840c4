import ConiferKeyValue

/// Counts the runs that one query reads.
package final class ReadMeter {
  private var seen: Set<UInt64> = []
  /// Bytes of the runs' bodies before compression.
  package private(set) var bytes = 0

  package init() {}

  /// How many runs were read, each counted once.
  package var runs: Int { seen.count }

  package func count(_ run: RunHead) {
    if seen.insert(run.number).inserted { bytes += run.rawCount }
  }
}
