internal import ConiferStorage

extension StorageBackend {
  /// Requires that stored counts are those of a scan of the records; records of another form than
  /// `PackedBackend`'s cannot be scanned.
  func requireExactUsage(_ place: String = "") throws {
    guard let packed = self as? any PackedRecords else { return }
    let drift = try packed.usageDrift()
    try require(drift.isEmpty, .usageDrift, place + drift.joined(separator: "; "))
  }
}
