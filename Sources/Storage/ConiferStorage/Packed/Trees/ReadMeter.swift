import ConiferKeyValue

/// Counts the runs that one query reads.
final class ReadMeter {
  private var seen: Set<UInt64> = []
  /// Bytes of the runs' bodies before compression.
  private(set) var bytes = 0

  /// How many runs were read, each counted once.
  var runs: Int { seen.count }

  func note(_ run: RunHead) {
    if seen.insert(run.number).inserted { bytes += run.rawCount }
  }
}
