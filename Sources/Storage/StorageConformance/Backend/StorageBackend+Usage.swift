internal import ConiferStorage

extension StorageBackend {
  /// Requires that stored counts equal those of a scan of the records. Only `PackedBackend`'s
  /// records can be scanned.
  func requireExactUsage(_ place: String = "") throws {
    guard let packed = self as? any PackedRecords else { return }
    let drift = try packed.usageDrift()
    try require(drift.isEmpty, .usageDrift, place + drift.joined(separator: "; "))
  }
}
